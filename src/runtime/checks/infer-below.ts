/**
 * Checks of the folders below the top: a repository may have several stacks, and none of them at its top. Only what git tracks counts, and no
 * folder that holds other projects (vendored ones, examples, fixtures). Pure but for `read`.
 */
import { coveringFolder } from '../../domain/area.ts'
import { partsOf } from '../../recovery/check/check-parts.ts'
import { lastSegment } from '../../recovery/check/shell-calls.ts'
import { shellQuoted } from '../../recovery/command/replacement.ts'
import { readCommand } from '../../recovery/diagnosis/argv.ts'
import { ecosystemsOf } from '../../recovery/install.ts'

/** A folder with checks of its own. */
export interface Stack {
  folder: string
  /** They run from the top of the repository. */
  commands: string[]
}

const otherProjects =
  /^(?:\..*|_.*|node_modules|vendor|third[_-]?party|examples?|samples?|demos?|fixtures?|testdata|tests?|specs?|e2e|docs?|templates?|benchmarks?|dist|build|target|out)$/i

/** How deep folders are searched. */
const deepest = 2

/** Whether a file lies directly in the top, or in a folder that can be a stack. */
export const isInStack = (path: string): boolean => {
  const folders = path.split('/').slice(0, -1)
  return folders.length <= deepest && !folders.some((name) => otherProjects.test(name))
}

/** One level of the test folders as well: some stacks have checks only if there are tests. */
const isRead = (path: string): boolean => /^(?:(?:tests?|spec)\/)?[^/]+$/.test(path)

/** The names that decide about checks, by folder, '' = the top; the outer folder first. */
export const namesByFolder = (names: readonly string[]): Map<string, string[]> => {
  const found = new Map<string, string[]>([['', names.filter(isRead)]])
  for (const path of names) {
    const segments = path.split('/')
    for (let depth = 1; depth <= Math.min(deepest, segments.length - 1); depth += 1) {
      const folder = segments.slice(0, depth).join('/')
      const name = segments.slice(depth).join('/')
      if (isRead(name) && isInStack(`${folder}/x`)) found.set(folder, [...(found.get(folder) ?? []), name])
    }
  }
  const depthOf = (folder: string): number => folder.split('/').length
  return new Map([...found].sort(([one], [other]) => depthOf(one) - depthOf(other) || one.localeCompare(other)))
}

export const inFolder = (folder: string, command: string): string => `cd ${shellQuoted(folder)} && ${command}`

/** What a check is about, such as the packages of one ecosystem. */
const kindsOf = (command: string): string[] => {
  const { programs } = readCommand(command)
  const ecosystems = ecosystemsOf(programs)
  return ecosystems.length > 0 ? ecosystems : programs.slice(0, 1)
}

/** A package of another folder, or a module, is no part of a check that names neither. */
const partly: ReadonlySet<string> = new Set(['node', 'go', 'make'])

interface Top {
  commands: readonly string[]
  read: (path: string) => Promise<string | undefined>
  isMember: (folder: string) => boolean
}

/** Those that the checks of the top do not run. */
export const notRunBy = async ({ commands, read, isMember }: Top, stacks: readonly Stack[]): Promise<Stack[]> => {
  if (commands.length === 0) return [...stacks]
  const { folders, words } = await partsOf(commands, read)
  const kinds = new Set(commands.flatMap(kindsOf))
  const isRun = (folder: string, command: string): boolean =>
    words.has(lastSegment(folder)) ||
    [...folders].some((visited) => visited === folder || visited.startsWith(`${folder}/`)) ||
    kindsOf(command).some((kind) => kinds.has(kind) && (!partly.has(kind) || (kind === 'node' && isMember(folder))))
  return stacks.flatMap((stack) => {
    const left = stack.commands.filter((command) => !isRun(stack.folder, command))
    return left.length === 0 ? [] : [{ ...stack, commands: left }]
  })
}

export interface InferredChecks {
  /** Checks of the top. */
  top: string[]
  /** Those below, which the checks of the top do not run. */
  stacks: Stack[]
}

const isWithin = (path: string, folder: string): boolean =>
  folder === '' || path === folder || path.startsWith(`${folder}/`)

const mostStacks = 6
const mostCommands = 8

const commandsOf = (stacks: readonly Stack[]): string[] => {
  const each = Math.max(1, Math.floor(mostCommands / Math.max(1, stacks.length)))
  return stacks.flatMap(({ commands }) => commands.slice(0, each))
}

/**
 * The checks of a task that may change these paths, and the folders with checks that are not run. Without a check at the top they are those of
 * the stacks that it may change; a stack that the checks of the top leave out is checked where the task names paths of that folder.
 */
export const checksFor = (
  { top, stacks }: InferredChecks,
  allowedPaths: readonly string[],
): { commands: string[]; left: Stack[] } => {
  const allowed = allowedPaths.map(coveringFolder)
  const touchedBy = (paths: readonly string[]): Stack[] =>
    stacks.filter(({ folder }) => paths.some((path) => isWithin(path, folder) || isWithin(folder, path)))
  const touched = touchedBy(allowed)
  const meant =
    top.length > 0
      ? touchedBy(allowed.filter((path) => path !== ''))
      : // Where it may change none of them, each of them may use what it changes.
        touched.length > 0
        ? touched
        : stacks
  const chosen = meant.slice(0, mostStacks)
  return {
    commands: [...top, ...commandsOf(chosen)],
    left: (top.length > 0 ? touched : meant).filter((stack) => !chosen.includes(stack)),
  }
}
