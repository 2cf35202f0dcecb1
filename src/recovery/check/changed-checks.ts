/**
 * How a change altered the checks themselves: scripts, make targets, files that a check runs, and configuration of the tools
 * that it uses. Compared with what the checks call in the base commit, because a new check weakens no existing one.
 */
import type { Weakening } from '../../domain/run.ts'
import { testFamilies } from '../test-families.ts'
import { mayHoldTests } from '../weakened.ts'
import { readMakefile, type MakeRule } from './makefile.ts'
import {
  makefileNames,
  partsOf,
  scriptsIn,
  type ScriptOrTarget,
  type CheckParts,
  type ReadText,
} from './check-parts.ts'
import { changedPrograms } from './programs.ts'
import { toolConfigurations, lineRemovedOrAdded } from './tool-configurations.ts'
import { joinInRepository, lastSegment, parentOf } from './shell-calls.ts'

/** A coverage threshold, in any format. The pattern is bounded, because an agent wrote the text. */
const threshold =
  /["']?\b(branches|functions|lines|statements|fail[-_]under|cov-fail-under|minimumCoverage|threshold)["']?\s{0,3}[:= ]\s{0,3}["']?(-?\d+(?:\.\d+)?)/gi

const read = (text: string | undefined): Map<string, number[]> => {
  const found = new Map<string, number[]>()
  for (const [, name = '', value = ''] of (text ?? '').matchAll(threshold)) {
    const values = [...(found.get(name) ?? []), Number(value)]
    found.set(
      name,
      values.toSorted((a, b) => a - b),
    )
  }
  return found
}

/** As prose; empty if none was lowered or removed. */
const thresholdsLowered = (before: string | undefined, after: string | undefined): string => {
  const now = read(after)
  return [...read(before)]
    .map(([name, old]) => ({ name, old, left: now.get(name) ?? [] }))
    .filter(({ old, left }) => left.length < old.length || old.some((value, at) => (left[at] ?? 0) < value))
    .map(({ name, old, left }) => `${name} ${old.join('/')} -> ${left.length === 0 ? 'removed' : left.join('/')}`)
    .join('; ')
}

export interface ChangedTree {
  commands: readonly string[]
  /** Changed paths. */
  paths: readonly string[]
  before: ReadText
  after: ReadText
}

export interface ChangedChecks {
  found: Weakening[]
  /** Changed files that a check runs and whose assertions count like those of a test. */
  asserting: Set<string>
}

const maxListed = 50

const redefined = (path: string, detail: string, kind: Weakening['kind'] = 'check redefined'): Weakening => ({
  ...{ kind, path, count: 1, detail: detail.slice(0, 500) },
})

const unique = (entries: readonly ScriptOrTarget[]): ScriptOrTarget[] => [
  ...new Map(entries.map((entry) => [`${entry.path}\0${entry.name}`, entry])).values(),
]

const changedScripts = async (
  { before, after }: ChangedTree,
  scripts: readonly ScriptOrTarget[],
): Promise<Weakening[]> => {
  const found = new Map<string, Weakening>()
  for (const { path, name } of unique(scripts)) {
    const [old, now] = [scriptsIn(await before(path)), scriptsIn(await after(path))]
    // A script that the work added was not a check before.
    if (old[name] === undefined) continue
    for (const each of [`pre${name}`, name, `post${name}`])
      if (old[each] !== now[each])
        found.set(`${path} ${each}`, redefined(path, `${each}: ${old[each] ?? 'none'} -> ${now[each] ?? 'removed'}`))
  }
  return [...found.values()]
}

/** Lines outside of rules that can change what a rule does. */
const steering = (others: readonly string[], known: readonly string[]): string[] =>
  others.filter((line) => /^-?s?include\b|^override\b|^(?:\.?SHELL\w*|MAKEFLAGS)\b/.test(line) || known.includes(line))

const changedTargets = async (
  { before, after }: ChangedTree,
  targets: readonly ScriptOrTarget[],
): Promise<Weakening[]> => {
  const found: Weakening[] = []
  for (const path of new Set(targets.map((target) => target.path))) {
    const [oldText, nowText] = [await before(path), await after(path)]
    if (oldText === undefined || oldText === nowText) continue
    const [old, now] = [readMakefile(oldText), readMakefile(nowText ?? '')]
    for (const { name } of unique(targets.filter((target) => target.path === path))) {
      const [was, is] = [old.rules.get(name), now.rules.get(name)]
      if (was !== undefined && was.text !== is?.text) found.push(redefined(path, `${name}: ${ruleChange(was, is)}`))
    }
    if (steering(old.others, old.others).join('\n') !== steering(now.others, old.others).join('\n'))
      found.push(redefined(path, 'variables or included files of the makefile changed'))
  }
  return found
}

const recipeText = ({ recipe }: MakeRule): string => recipe.join('; ')
const needsText = ({ needs }: MakeRule): string => (needs.length === 0 ? 'needs nothing' : `needs ${needs.join(', ')}`)

/** What differs: the recipe, or what has to be made before it. */
const ruleChange = (was: MakeRule, is: MakeRule | undefined): string => {
  if (is === undefined) return `${recipeText(was)} -> removed`
  const wordsOf = was.recipe.join('\n') === is.recipe.join('\n') ? needsText : recipeText
  return `${wordsOf(was)} -> ${wordsOf(is)}`
}

/** Code that ends a program early or hides its failure. */
const escapes =
  /\bprocess\.(?:exit|reallyExit|abort|kill)\b|\b(?:sys|os)\._?exit\b|\bDeno\.exit\b|\bcatch\b|\bexcept\b|\brescue\b|\bexit (?:0|\$?\w+)|\|\|\s*(?:true|:)|\bset \+e\b|\btrap\b/g
const escapesGrew = (before: string, after: string): boolean =>
  [...after.matchAll(escapes)].length > [...before.matchAll(escapes)].length
const lineIsGone = lineRemovedOrAdded(escapes)

const linkDepth = 4

/**
 * The files and the targets of links among them. `before` returns the target of a link as its text. Every one-line text is
 * treated as a link, which is harmless: other texts name no changed file.
 */
export const withTargets = async (before: ReadText, files: ReadonlySet<string>): Promise<Set<string>> => {
  const found = new Set(files)
  let last = [...files]
  for (let depth = 0; depth < linkDepth && last.length > 0; depth++) {
    const texts = await Promise.all(last.map(async (path) => ({ path, text: (await before(path)) ?? '' })))
    const targets = texts.filter(({ text }) => /^[^\n\0]{1,500}$/.test(text))
    last = targets
      .map(({ path, text }) => joinInRepository(parentOf(path), text))
      .filter((path) => path !== '' && !found.has(path))
    for (const path of last) found.add(path)
  }
  return found
}

const hasAssertions = (path: string, text: string): boolean =>
  testFamilies.some(
    ({ program, assertion }) => program?.test(path) === true && [...text.matchAll(assertion)].length > 0,
  )

const changedFiles = async (
  { paths, before, after }: ChangedTree,
  files: ReadonlySet<string>,
): Promise<ChangedChecks> => {
  const result: ChangedChecks = { found: [], asserting: new Set() }
  for (const path of paths.filter((each) => files.has(each))) {
    const [old, now] = [await before(path), await after(path)]
    if (old === undefined || mayHoldTests(path)) continue
    const counts = hasAssertions(path, old)
    if (counts) result.asserting.add(path)
    if (now === undefined && !counts) result.found.push(redefined(path, 'a file that the check runs was deleted'))
    else if (now !== undefined && (counts ? escapesGrew(old, now) : lineIsGone(old, now)))
      result.found.push(redefined(path, 'a file that the check runs was changed'))
  }
  return result
}

const changedConfigurations = async (
  { paths, before, after }: ChangedTree,
  { words, configurations: given }: CheckParts,
): Promise<Weakening[]> => {
  const found: Weakening[] = []
  for (const path of paths) {
    const tools = toolConfigurations.filter(
      ({ file, used }) => file.test(path) && (used === undefined || [...words].some((word) => used.test(word))),
    )
    if (tools.length === 0 && !given.has(path)) continue
    const [old, now] = [await before(path), await after(path)]
    const matters = tools.filter(({ differs }) => (differs ?? (() => old !== now))(old, now))
    if (matters.length === 0 && !(given.has(path) && tools.length === 0 && old !== undefined)) continue
    const lowered = thresholdsLowered(old, now)
    const names = [...new Set(matters.map(({ tool }) => tool))].join(', ') || 'a file that the check names'
    const how = old === undefined ? 'added' : now === undefined ? 'deleted' : 'changed'
    found.push(
      lowered === ''
        ? redefined(path, `configuration of ${names}, ${how}`, 'configuration changed')
        : redefined(path, lowered, 'threshold lowered'),
    )
  }
  return found
}

/** Paths that differ only in case from a file that a check runs, so that some file systems treat them as the same file. */
const collidingFiles = ({ paths }: ChangedTree, files: ReadonlySet<string>): Weakening[] => {
  const folded = new Set([...files].map((path) => path.toLowerCase()))
  return paths
    .filter((path) => !files.has(path) && folded.has(path.toLowerCase()))
    .map((path) => ({
      ...redefined(path, 'differs only in case from a file that the check runs'),
      // Here the two are different files, so no run shows it.
      beyondProof: true,
    }))
}

const isMake = (path: string): boolean => makefileNames.includes(lastSegment(path))

export const changedChecks = async (tree: ChangedTree): Promise<ChangedChecks> => {
  const { commands, paths, before, after } = tree
  if (commands.length === 0 || paths.length === 0) return { found: [], asserting: new Set() }
  const manifests = paths.filter((path) => lastSegment(path) === 'package.json')
  const parts = await partsOf(commands, before, manifests)
  const now = await partsOf(commands, after, manifests)
  const run = new Set([...parts.files, ...now.files])
  const files = await changedFiles(tree, await withTargets(before, run))
  const found = [
    ...(manifests.length === 0 ? [] : await changedScripts(tree, parts.scripts)),
    ...(paths.some((path) => isMake(path) || parts.targets.some((target) => target.path === path))
      ? await changedTargets(tree, parts.targets)
      : []),
    ...files.found,
    ...collidingFiles(tree, run),
    ...(await changedConfigurations(tree, parts)),
    ...(await changedPrograms({ ...tree, words: parts.words })),
  ]
  return { found: found.slice(0, maxListed), asserting: files.asserting }
}
