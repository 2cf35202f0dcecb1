/** One small broken project for `npm run corpus:live`: what stands in it, the command, and what its failure is. */
import type { Label } from '../../src/recovery/diagnosis/labels.ts'

export interface LiveCase {
  /** The tool whose words are looked at. */
  tool: string
  command: string
  /** More than one where corpus/README.md draws no border between them. */
  expect: Label | Label[]
  files?: Record<string, string>
  /** Packages from the registry that bring the tool; nothing = it has to be on the machine. */
  packages?: string[]
  /** A shell line that prepares the project. */
  before?: string
  environment?: Record<string, string>
  under?: 'full disk' | 'few files' | 'little memory' | 'another user'
  /** Where the user's own home folder holds what the tool needs. */
  ownHome?: true
}

/** Many failures of one tool: command, what it is, files, and the rest. */
export const of =
  (tool: string, common: Partial<LiveCase> = {}) =>
  (
    command: string,
    expect: LiveCase['expect'],
    files: Record<string, string> = {},
    more: Partial<LiveCase> = {},
  ): LiveCase => ({ ...common, tool, command, expect, ...more, files: { ...common.files, ...files } })
