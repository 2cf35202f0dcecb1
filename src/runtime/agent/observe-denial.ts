/** The facts about a denial that a correction needs: which existing directory it was about, and whether that is allowed. */
import { dirname, isAbsolute, join, sep } from 'node:path'
import type { Capabilities } from '../../harness/capabilities.ts'
import type { Denial } from '../../harness/driver.ts'
import type { Refusal } from '../../recovery/diagnosis/agent.ts'
import type { ObservedDenial, ObservedDirectory } from '../../recovery/evidence.ts'
import { wideFolder } from '../../wide-folder.ts'
import type { Files } from '../core/files.ts'
import { lookAtDirectory } from '../core/folder-access.ts'

type Looks = Pick<Files, 'accessSync' | 'homeDir' | 'realpathSync' | 'statSync' | 'userId'>

const real = (files: Looks, path: string): string | undefined => {
  try {
    return files.realpathSync(path)
  } catch {
    return undefined // does not exist (any more)
  }
}

export const isInside = (path: string, root: string): boolean => path === root || path.startsWith(root + sep)

/** The nearest existing folder at or above a path, as realpath: a symlink out of an allowed directory is no way in. */
export const existingDirectory = (files: Looks, path: string): string | undefined => {
  let candidate = path
  for (;;) {
    const found = real(files, candidate)
    if (found !== undefined) return files.statSync(found).isDirectory() ? found : dirname(found)
    const parent = dirname(candidate)
    if (parent === candidate) return undefined
    candidate = parent
  }
}

/** Directories as realpaths. One that does not exist allows nothing, nor does one that leads by now to where none may. */
export const realDirectories = (files: Looks, paths: readonly string[]): string[] =>
  paths.flatMap((path) => real(files, path) ?? []).filter((path) => wideFolder(files, path) === undefined)

/**
 * The first folder on the way from a root to a directory that this user cannot use. From above, because behind it nothing can
 * be looked at; to root, who can, the same folder is found by its bits.
 */
const firstUnusable = (files: Looks, root: string, directory: string): ObservedDirectory | undefined => {
  const names = directory === root ? [] : directory.slice(root.length + 1).split(sep)
  for (let path = root, next = 0; ; next += 1) {
    const found = lookAtDirectory(files, path)
    const name = names[next]
    if (found !== undefined || name === undefined) return found
    path = join(path, name)
  }
}

interface Place {
  workTree: string
  /** Realpaths. */
  allowed: readonly string[]
  /** Those of them that the refused launch had been given. */
  given: readonly string[]
}

const observeScope = (files: Looks, facts: ObservedDenial, directory: string, place: Place): ObservedDenial => {
  const workspace = real(files, place.workTree)
  // Inside the workspace the path is allowed already: the mode is the problem, and no directory cures that.
  if (workspace !== undefined && isInside(directory, workspace)) return { ...facts, kind: 'tool' }
  const allowedBy = place.allowed.find((root) => isInside(directory, root))
  return { ...facts, directory, ...(allowedBy === undefined ? {} : { allowedBy }) }
}

/** Only where the agent may work: what the system refuses elsewhere is refused for a reason. */
const observeRefusal = (files: Looks, facts: ObservedDenial, directory: string, place: Place): ObservedDenial => {
  const roots = [real(files, place.workTree), ...place.allowed].filter((root) => root !== undefined)
  const root = roots.find((candidate) => isInside(directory, candidate))
  const unusable = root === undefined ? undefined : firstUnusable(files, root, directory)
  return { ...facts, directory, ...(unusable === undefined ? {} : { unusable }) }
}

/**
 * Codex does not say which path it refused. What the owner allowed is allowed whatever the path was, so the next of those
 * directories is tried; with none left, none of them was meant.
 */
const observeUnnamed = (facts: ObservedDenial, { allowed, given }: Place): ObservedDenial => {
  const next = allowed.find((root) => !given.includes(root))
  return next === undefined ? facts : { ...facts, directory: next, allowedBy: next }
}

export const observeDenial = (files: Looks, denial: Denial, place: Place): ObservedDenial => {
  const { callId: _callId, ...facts } = denial
  // A tool or a command was refused: no directory is at fault, and none cures it.
  if (denial.kind !== 'scope' && denial.kind !== 'filesystem') return facts
  if (denial.target === undefined) return denial.kind === 'scope' ? observeUnnamed(facts, place) : facts
  const target = isAbsolute(denial.target) ? denial.target : join(place.workTree, denial.target)
  const directory = existingDirectory(files, target)
  if (directory === undefined) return facts
  return (denial.kind === 'scope' ? observeScope : observeRefusal)(files, facts, directory, place)
}

/** The paths that a CLI names as refused; some list what is open to the agent as well. */
const refusedTargets = (files: Looks, paths: readonly string[], { workTree, given }: Place): string[] => {
  const open = new Set([workTree, real(files, workTree), ...given])
  return paths.filter((path) => !open.has(path))
}

/** What a launch ended for, seen as the refusals that it tells of. Without a path, the folders that it was given are looked at. */
const refusalsOf = (files: Looks, { kind, paths, text }: Refusal, place: Place): ObservedDenial[] => {
  const refused = (target?: string): ObservedDenial =>
    observeDenial(files, { kind, tool: '', text, ...(target === undefined ? {} : { target }) }, place)
  const targets = refusedTargets(files, paths, place)
  if (targets.length > 0) return targets.map((target) => refused(target))
  if (kind === 'scope') return [refused()]
  return [place.workTree, ...place.given].map(refused).filter(({ unusable }) => unusable !== undefined)
}

/** Whether a launch that was given this directory was refused there once more; a refusal that names no path may mean it. */
export const isRefusedAgain = (denials: readonly ObservedDenial[], given: string): boolean =>
  denials.some(
    ({ kind, target, directory }) => kind === 'scope' && (target === undefined || isInside(directory ?? target, given)),
  )

export type RulesFor = (denial: Pick<Denial, 'tool' | 'target'>) => string[]

/** Denials as they were observed, and the rules that would let a call through whether the launch had them or not. */
export interface Observed {
  denials: ObservedDenial[]
  rulesFor: RulesFor
}

export interface ObservedLaunch {
  place: Place
  can: Pick<Capabilities, 'directories'>
  /** Rules that the launch had. */
  granted: readonly string[]
  rulesFor: RulesFor
}

/** Only what this version of the CLI can be told counts as a way to correct a denial. */
const correctable = (
  { can, granted, rulesFor }: ObservedLaunch,
  denials: readonly ObservedDenial[],
): ObservedDenial[] =>
  denials.map(({ allowedBy, ...seen }) => {
    const rules = seen.kind === 'tool' ? rulesFor(seen).filter((rule) => !granted.includes(rule)) : []
    return {
      ...seen,
      ...(allowedBy === undefined || !can.directories ? {} : { allowedBy }),
      ...(rules.length === 0 ? {} : { toolRules: rules }),
    }
  })

export const observeDenials = (files: Looks, denials: readonly Denial[], launched: ObservedLaunch): ObservedDenial[] =>
  correctable(
    launched,
    denials.map((denial) => observeDenial(files, denial, launched.place)),
  )

/** The same of the failure that a launch ended with. */
export const observeRefusals = (
  files: Looks,
  refusal: Refusal | undefined,
  launched: ObservedLaunch,
): ObservedDenial[] => (refusal === undefined ? [] : correctable(launched, refusalsOf(files, refusal, launched.place)))
