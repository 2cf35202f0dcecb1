/** One small broken project for `npm run corpus:live`: its files, the command, and the expected label. */
import type { Label } from '../../src/recovery/diagnosis/labels.ts'

export interface LiveCase {
  /** The tool whose output is classified. */
  tool: string
  command: string
  /** Several where more than one label is right. */
  expect: Label | Label[]
  files?: Record<string, string>
  /** Packages from the registry that contain the tool; absent = it must be installed on the machine. */
  packages?: string[]
  /** A shell line that prepares the project. */
  before?: string
  environment?: Record<string, string>
  under?: 'full disk' | 'few files' | 'little memory' | 'another user'
  /** The tool needs files of the user's own home folder. */
  ownHome?: true
}

/** Returns a function that declares failures of one tool, with files and options that they have in common. */
export const casesOf =
  (tool: string, common: Partial<LiveCase> = {}) =>
  (
    command: string,
    expect: LiveCase['expect'],
    files: Record<string, string> = {},
    more: Partial<LiveCase> = {},
  ): LiveCase => ({ ...common, tool, command, expect, ...more, files: { ...common.files, ...files } })
