/**
 * The parts of a check: the package scripts and make targets that a command calls, the files that it runs, and the words that
 * identify its tools. Scripts that call scripts are followed.
 */
import { readMakefile, recipeLine, withPrerequisites } from './makefile.ts'
import {
  callsIn,
  configurationsOf,
  filesRunBy,
  folderOf,
  joinInRepository,
  lastSegment,
  parentOf,
  type ShellCall,
} from './shell-calls.ts'

/** Text of a file in one tree; undefined = no such file. */
export type ReadText = (path: string) => Promise<string | undefined>

export interface ScriptOrTarget {
  /** The package.json or makefile. */
  path: string
  name: string
}

export interface CheckParts {
  /** Every word of every call, paths by their last segment. Contains the names of all tools used. */
  words: Set<string>
  files: Set<string>
  configurations: Set<string>
  scripts: ScriptOrTarget[]
  targets: ScriptOrTarget[]
  /** Where the calls look for their manifests. */
  folders: Set<string>
}

const maxDepth = 8
const maxFollowed = 300

const startsScripts = /^(?:npm|pnpm|yarn|bun|turbo|nx|lerna|npm-run-all2?|run-[sp]|concurrently|wireit|--run)$/
const everyPackage =
  /^(?:-w|--workspaces?(?:=.*)?|-ws|-F|--filter(?:=.*)?|-r|--recursive|workspaces?|foreach|turbo|nx|lerna)$/
const shortNames: Readonly<Record<string, string>> = { t: 'test', tst: 'test' }

export const makefileNames: readonly string[] = ['GNUmakefile', 'makefile', 'Makefile']

export const scriptsIn = (text: string | undefined): Record<string, string> => {
  try {
    const parsed = JSON.parse(text ?? '{}') as { scripts?: Record<string, unknown> } | null
    const written = Object.entries(parsed?.scripts ?? {})
    return Object.fromEntries(written.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
  } catch {
    return {} // a broken manifest has no scripts to compare
  }
}

interface Follower {
  read: ReadText
  /** Manifests of packages that a command for all packages may run in. */
  packages: readonly string[]
  parts: CheckParts
  seen: Set<string>
}

const followScripts = async (follower: Follower, call: ShellCall, depth: number): Promise<void> => {
  if (!call.words.some((word) => startsScripts.test(lastSegment(word)))) return
  const own = joinInRepository(folderOf(call), 'package.json')
  const manifests = call.words.some((word) => everyPackage.test(word)) ? [own, ...follower.packages] : [own]
  const asked = call.words.map((word) => word.replace(/^npm:/, '')).map((word) => shortNames[word] ?? word)
  for (const path of new Set(manifests)) {
    const scripts = scriptsIn(await follower.read(path))
    for (const name of asked.filter((word) => Object.hasOwn(scripts, word))) {
      follower.parts.scripts.push({ path, name })
      const lines = [`pre${name}`, name, `post${name}`].flatMap((each) => scripts[each] ?? [])
      for (const line of lines) await follow(follower, line, parentOf(path), depth + 1)
    }
  }
}

const followTargets = async (follower: Follower, call: ShellCall, depth: number): Promise<void> => {
  const at = call.words.findIndex((word) => /^g?make$/.test(lastSegment(word)))
  if (at === -1) return
  const folder = folderOf(call)
  const given = call.words.findIndex((word) => word === '-f' || word === '--file')
  const names = given === -1 ? makefileNames : [call.words[given + 1] ?? '']
  for (const path of names.map((name) => joinInRepository(folder, name))) {
    const text = await follower.read(path)
    if (text === undefined) continue
    const file = readMakefile(text)
    for (const [, included = ''] of file.others.map((line) => /^-?s?include\s+(.+)$/.exec(line) ?? []))
      for (const name of included.split(/\s+/)) follower.parts.configurations.add(joinInRepository(folder, name))
    const asked = call.words.slice(at + 1).filter((word) => file.rules.has(word))
    for (const name of withPrerequisites(file, asked.length === 0 && file.first !== undefined ? [file.first] : asked)) {
      follower.parts.targets.push({ path, name })
      for (const line of file.rules.get(name)?.recipe ?? []) await follow(follower, recipeLine(line), folder, depth + 1)
    }
  }
}

const follow = async (follower: Follower, line: string, folder: string, depth = 0): Promise<void> => {
  const { parts, seen } = follower
  if (depth > maxDepth || seen.size > maxFollowed || seen.has(`${folder}\0${line}`)) return
  seen.add(`${folder}\0${line}`)
  for (const call of callsIn(line, folder)) {
    for (const word of call.words) parts.words.add(lastSegment(word))
    parts.folders.add(folderOf(call))
    for (const path of filesRunBy(call)) parts.files.add(path)
    for (const path of configurationsOf(call)) parts.configurations.add(path)
    await followScripts(follower, call, depth)
    await followTargets(follower, call, depth)
  }
}

/** `packages`: manifests of packages that a command for all packages may run in. */
export const partsOf = async (
  commands: readonly string[],
  read: ReadText,
  packages: readonly string[] = [],
): Promise<CheckParts> => {
  const sets = { words: new Set<string>(), files: new Set<string>(), configurations: new Set<string>() }
  const parts: CheckParts = { ...sets, folders: new Set(), scripts: [], targets: [] }
  const follower = { read, packages, parts, seen: new Set<string>() }
  for (const command of commands) await follow(follower, command, '')
  return parts
}
