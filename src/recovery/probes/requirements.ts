/** Reads from a project's files which versions of tools it requires. Pure; anything but a plain version or range is ignored. */
import type { ToolRequirement } from './measurement.ts'

type Wanted = Omit<ToolRequirement, 'found'>

/** Maps names of .tool-versions (asdf, mise) to ours. */
const toolNames: Record<string, string> = {
  nodejs: 'node',
  node: 'node',
  python: 'python',
  golang: 'go',
  go: 'go',
  rust: 'rust',
  java: 'java',
  ruby: 'ruby',
}

const firstWord = (text: string): string => text.trim().split(/\s+/)[0] ?? ''

const plainVersion = /^v?\d+(?:\.\d+){0,2}$/

/** A file with a single version: all of its given parts must match. */
const pinned =
  (tool: string) =>
  (text: string): Omit<Wanted, 'file'>[] => {
    const wanted = firstWord(text)
    return plainVersion.test(wanted) ? [{ tool, wanted }] : []
  }

const found =
  (tool: string, pattern: RegExp, prefix = '') =>
  (text: string): Omit<Wanted, 'file'>[] => {
    const wanted = pattern.exec(text)?.[1]
    return wanted === undefined ? [] : [{ tool, wanted: `${prefix}${wanted}` }]
  }

const engines = (text: string): Omit<Wanted, 'file'>[] => {
  try {
    const { engines: asked } = JSON.parse(text) as { engines?: { node?: unknown } }
    return typeof asked?.node === 'string' ? [{ tool: 'node', wanted: asked.node }] : []
  } catch {
    return [] // a manifest that does not parse requires nothing
  }
}

const toolVersions = (text: string): Omit<Wanted, 'file'>[] =>
  text.split('\n').flatMap((line) => {
    const [name = '', wanted = ''] = line.trim().split(/\s+/)
    const tool = Object.hasOwn(toolNames, name) ? toolNames[name] : undefined
    return tool === undefined || !plainVersion.test(wanted) ? [] : [{ tool, wanted }]
  })

/** Files at the top of a project, and how to read the requirement of each. */
export const requirementFiles: Record<string, (text: string) => Omit<Wanted, 'file'>[]> = {
  'package.json': engines,
  '.nvmrc': pinned('node'),
  '.node-version': pinned('node'),
  '.tool-versions': toolVersions,
  '.python-version': pinned('python'),
  'pyproject.toml': found('python', /^\s*requires-python\s*=\s*["']([^"']+)["']/m),
  'rust-toolchain': pinned('rust'),
  'rust-toolchain.toml': found('rust', /^\s*channel\s*=\s*["'](\d+\.\d+(?:\.\d+)?)["']/m),
  'Cargo.toml': found('rust', /^\s*rust-version\s*=\s*["'](\d+\.\d+(?:\.\d+)?)["']/m, '>='),
  'go.mod': found('go', /^go (\d+\.\d+(?:\.\d+)?)\s*$/m, '>='),
  '.ruby-version': pinned('ruby'),
}

/** The command that prints each tool's version. */
export const versionCommands: Record<string, string[]> = {
  node: ['node', '--version'],
  python: ['python3', '--version'],
  go: ['go', 'version'],
  rust: ['rustc', '--version'],
  java: ['java', '-version'],
  ruby: ['ruby', '--version'],
}

export const versionIn = (output: string): string | undefined => /\d+\.\d+(?:\.\d+)?/.exec(output)?.[0]
