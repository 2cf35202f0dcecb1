/** The facts about a denial that a correction needs: the existing directory that it concerns, and whether the owner allows it. */
import { dirname, isAbsolute, join, sep } from 'node:path'
import type { Capabilities } from '../../harness/capabilities.ts'
import type { Denial } from '../../harness/driver.ts'
import type { LaunchRefusal } from '../../recovery/diagnosis/launch-failure.ts'
import type { ObservedDenial, ObservedDirectory } from '../../recovery/evidence.ts'
import { whyTooWide } from '../../config/wide-folder.ts'
import type { Files } from '../core/files.ts'
import { inspectDirectory } from '../core/folder-access.ts'
import { defined } from '../../domain/defined.ts'

type Inspection = Pick<Files, 'accessSync' | 'homeDir' | 'realpathSync' | 'statSync' | 'userId'>

const real = (files: Inspection, path: string): string | undefined => {
  try {
    return files.realpathSync(path)
  } catch {
    return undefined // does not exist (any more)
  }
}

export const isInside = (path: string, root: string): boolean => path === root || path.startsWith(root + sep)

/** The nearest existing folder at or above a path, as realpath, so that a symlink cannot lead out of an allowed directory. */
export const existingDirectory = (files: Inspection, path: string): string | undefined => {
  let candidate = path
  for (;;) {
    const found = real(files, candidate)
    if (found !== undefined) return files.statSync(found).isDirectory() ? found : dirname(found)
    const parent = dirname(candidate)
    if (parent === candidate) return undefined
    candidate = parent
  }
}

/** Directories as realpaths, without those that do not exist and those that now resolve to a folder too wide to be given away. */
export const realDirectories = (files: Inspection, paths: readonly string[]): string[] =>
  paths.flatMap((path) => real(files, path) ?? []).filter((path) => whyTooWide(files, path) === undefined)

/**
 * The first folder between a root and a directory that this user cannot use. It is searched from above, because nothing below an
 * unusable folder can be inspected. The user root can enter everything, so there the mode bits decide.
 */
const firstUnusable = (files: Inspection, root: string, directory: string): ObservedDirectory | undefined => {
  const names = directory === root ? [] : directory.slice(root.length + 1).split(sep)
  for (let path = root, next = 0; ; next += 1) {
    const found = inspectDirectory(files, path)
    const name = names[next]
    if (found !== undefined || name === undefined) return found
    path = join(path, name)
  }
}

interface Folders {
  workTree: string
  /** Realpaths. */
  allowed: readonly string[]
  /** The allowed directories that the refused launch had. */
  given: readonly string[]
}

const observeScope = (files: Inspection, facts: ObservedDenial, directory: string, place: Folders): ObservedDenial => {
  const workspace = real(files, place.workTree)
  // A path inside the workspace is allowed already, so another directory would not help: the permission mode refused the tool.
  if (workspace !== undefined && isInside(directory, workspace)) return { ...facts, kind: 'tool' }
  const allowedBy = place.allowed.find((root) => isInside(directory, root))
  return { ...facts, directory, ...defined({ allowedBy }) }
}

/** Looks for the cause only where the agent may work. Elsewhere the system's refusal is right, and no mode is changed. */
const observeRefusal = (
  files: Inspection,
  facts: ObservedDenial,
  directory: string,
  place: Folders,
): ObservedDenial => {
  const roots = [real(files, place.workTree), ...place.allowed].filter((root) => root !== undefined)
  const root = roots.find((candidate) => isInside(directory, candidate))
  const unusable = root === undefined ? undefined : firstUnusable(files, root, directory)
  return { ...facts, directory, ...defined({ unusable }) }
}

/**
 * Codex does not report which path it refused. Any directory that the owner allowed may be the one, so the next of them is tried. When
 * the launch had all of them, the refused path lies elsewhere, and no correction is left.
 */
const observeUnnamed = (facts: ObservedDenial, { allowed, given }: Folders): ObservedDenial => {
  const next = allowed.find((root) => !given.includes(root))
  return next === undefined ? facts : { ...facts, directory: next, allowedBy: next }
}

export const observeDenial = (files: Inspection, denial: Denial, place: Folders): ObservedDenial => {
  const { callId: _callId, at: _at, ...facts } = denial
  // A tool or a command was refused: no directory would help.
  if (denial.kind !== 'scope' && denial.kind !== 'filesystem') return facts
  if (denial.target === undefined) return denial.kind === 'scope' ? observeUnnamed(facts, place) : facts
  const target = isAbsolute(denial.target) ? denial.target : join(place.workTree, denial.target)
  const directory = existingDirectory(files, target)
  if (directory === undefined) return facts
  return (denial.kind === 'scope' ? observeScope : observeRefusal)(files, facts, directory, place)
}

/** The paths that a CLI names in a refusal, without those that the agent may use: some CLIs list both. */
const refusedTargets = (files: Inspection, paths: readonly string[], { workTree, given }: Folders): string[] => {
  const open = new Set([workTree, real(files, workTree), ...given])
  return paths.filter((path) => !open.has(path))
}

/** The refusals that the failure of a launch reports. If it names no path, the folders of the launch are inspected. */
const refusalsOf = (files: Inspection, { kind, paths, text }: LaunchRefusal, place: Folders): ObservedDenial[] => {
  const refused = (target?: string): ObservedDenial =>
    observeDenial(files, { kind, tool: '', text, ...defined({ target }) }, place)
  const targets = refusedTargets(files, paths, place)
  if (targets.length > 0) return targets.map((target) => refused(target))
  if (kind === 'scope') return [refused()]
  return [place.workTree, ...place.given].map(refused).filter(({ unusable }) => unusable !== undefined)
}

/** Whether a launch that had this directory was refused there again. A refusal without a path may concern it, so it counts. */
export const isRefusedAgain = (denials: readonly ObservedDenial[], given: string): boolean =>
  denials.some(
    ({ kind, target, directory }) => kind === 'scope' && (target === undefined || isInside(directory ?? target, given)),
  )

export type RulesFor = (denial: Pick<Denial, 'tool' | 'target'>) => string[]

/** Observed denials, and the rules that would allow a call, whether the launch had them or not. */
export interface ObservedDenials {
  denials: ObservedDenial[]
  rulesFor: RulesFor
}

export interface ObservedLaunch {
  place: Folders
  can: Pick<Capabilities, 'directories'>
  /** Rules that the launch had. */
  granted: readonly string[]
  rulesFor: RulesFor
}

/** Removes corrections that this version of the CLI does not support, and rules that the launch already had. */
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

export const observeDenials = (
  files: Inspection,
  denials: readonly Denial[],
  launched: ObservedLaunch,
): ObservedDenial[] =>
  correctable(
    launched,
    denials.map((denial) => observeDenial(files, denial, launched.place)),
  )

/** The same for the failure with which a launch ended. */
export const observeRefusals = (
  files: Inspection,
  refusal: LaunchRefusal | undefined,
  launched: ObservedLaunch,
): ObservedDenial[] => (refusal === undefined ? [] : correctable(launched, refusalsOf(files, refusal, launched.place)))
