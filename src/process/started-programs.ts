/** Child processes of an agent that hangs. It may be waiting for one of them, such as an MCP server. */
import { readRecord, writeFirstRecord } from './folder.ts'
import { argumentsOf, processTable } from '../platform/process.ts'

const mostNamed = 3

/** Recorded in the launch folder, so that an engine that restarts reaches the same diagnosis. */
export const noteStarted = (dir: string, started: readonly string[]): void => {
  if (started.length > 0) writeFirstRecord(dir, 'started.json', { started })
}

export const readStarted = (dir: string): string[] => {
  const { started = [] } = readRecord<{ started?: unknown }>(dir, 'started.json') ?? {}
  return Array.isArray(started) ? started.map(String) : []
}

/** Programs that run what their first word names; options may come before it. */
const runners = /^(?:node|python[\d.]*|ruby|perl|bash|sh|npm|npx|pnpm|yarn|bun|bunx|uv|uvx|pipx|deno|docker)$/
/** Words of a runner that are followed by what it runs. */
const verbs = /^(?:exec|run|x|dlx|tool)$/
const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** Program and script. Other arguments are not quoted, because they may be secrets. */
export const programText = (argv: readonly string[]): string => {
  // A program that sets its own title has it as one text.
  const [first = '', ...rest] = argv.length === 1 ? (argv[0] ?? '').split(/\s+/) : argv
  const program = baseName(first)
  const isRunner = runners.test(program)
  // What follows such an option is code.
  const hasCode = isRunner && /^-(?:c|e|p|pe)$|^--(?:eval|print)$/.test(rest[0] ?? '')
  const start = isRunner ? rest.findIndex((word) => !word.startsWith('-')) : 0
  const words = hasCode || start === -1 ? [] : rest.slice(start, start + (verbs.test(rest[start] ?? '') ? 2 : 1))
  return [program, ...words.filter((word) => /^[\w@./][\w@./:+ -]{0,200}$/.test(word))].join(' ')
}

/** `own`: the name of the agent's CLI, which often starts itself once more. */
export const startedPrograms = (members: readonly { pid: number }[], own: string): string[] => {
  const inside = new Set(members.map(({ pid }) => pid))
  const rows = processTable().filter(({ pid }) => inside.has(pid))
  const leaves = rows.filter(({ pid, parent }) => inside.has(parent) && !rows.some((other) => other.parent === pid))
  const found = leaves.map(({ pid }) => argumentsOf(pid)).filter((argv) => argv.length > 0)
  const isOwn = (argv: readonly string[]): boolean => argv.slice(0, 2).some((word) => baseName(word).startsWith(own))
  return [...new Set(found.filter((argv) => !isOwn(argv)).map(programText))].slice(0, mostNamed)
}
