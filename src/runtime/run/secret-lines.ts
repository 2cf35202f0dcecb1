/**
 * Finds secrets that an agent added. Every changed file is searched as it will be committed. A line that the base
 * contains already, in that file or in a deleted one, is not blamed on the agent.
 */
import { findSecrets, type SecretFound } from '../../recovery/policy/secret-text.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import type { RawChange } from '../../workspace/changes.ts'
import type { SecretSearch, RunContext } from '../core/run-context.ts'

const mebibyte = 1024 * 1024
const limits = { mostBytes: 32 * mebibyte, mostBytesEach: 8 * mebibyte }
const namedLines = 5
const longestHoldMs = 20

const absent = '000000'
const repository = '160000'
const isFile = (mode: string): boolean => mode !== absent && mode !== repository

type Visit = (object: string, text: string) => void | Promise<void>

/** Calls `visit` with the text of each object; returns the objects that are too large. */
const eachText = async ({ context }: RunContext, objects: Iterable<string>, visit: Visit): Promise<string[]> => {
  const tooLarge: string[] = []
  for (let left = [...new Set(objects)]; left.length > 0;) {
    const read = await context.ports.git.readTexts(context.shadow, left, limits)
    for (const [object, text] of read.texts) await visit(object, text)
    tooLarge.push(...read.tooLarge)
    left = read.left
  }
  return tooLarge
}

const linesOf = (text: string): string[] => text.split('\n').map((line) => line.trim())

interface Found {
  lines: string[]
  secrets: SecretFound[]
}

/** Yields the thread after it was busy for a while, so that lease renewals are not delayed. */
const pauseOf = ({ context: { clock } }: RunContext): (() => Promise<void>) => {
  let since = clock.elapsed()
  return async () => {
    if (clock.elapsed() - since < longestHoldMs) return
    await clock.wait(0)
    since = clock.elapsed()
  }
}

const searchNew = async (runContext: RunContext, changes: readonly RawChange[]) => {
  const found = new Map<string, Found>()
  const objects = changes.filter(({ newMode }) => isFile(newMode)).map(({ newObject }) => newObject)
  const pause = pauseOf(runContext)
  const tooLarge = await eachText(runContext, objects, async (object, text) => {
    const secrets = await findSecrets(text, pause)
    if (secrets.length > 0) found.set(object, { lines: linesOf(text), secrets })
  })
  return { found, tooLarge: new Set(tooLarge) }
}

/**
 * Tells whether a line is in the base: in the old version of the changed file, or in a deleted file, whose lines may
 * have moved.
 */
const baseLines = async (runContext: RunContext, changes: readonly RawChange[]) => {
  const byObject = new Map<string, Set<string>>()
  const before = changes.filter(({ oldMode }) => isFile(oldMode))
  const objects = before.map(({ oldObject }) => oldObject)
  await eachText(runContext, objects, (object, text) => void byObject.set(object, new Set(linesOf(text))))
  const gone = before.filter(({ newMode }) => newMode === absent).map(({ oldObject }) => byObject.get(oldObject))
  return ({ oldObject }: RawChange, line: string): boolean =>
    byObject.get(oldObject)?.has(line) === true || gone.some((lines) => lines?.has(line))
}

const textOf = (secrets: readonly SecretFound[]): string => {
  const named = secrets.slice(0, namedLines).map(({ rule, from }) => `${rule} (line ${from})`)
  const more = secrets.length - named.length
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ')
}

/** The found secrets with at least one line that the base does not contain. */
const withoutKnown = async (
  runContext: RunContext,
  changes: readonly RawChange[],
  found: ReadonlyMap<string, Found>,
): Promise<Map<string, string>> => {
  const bad = new Map<string, string>()
  if (found.size === 0) return bad
  const suspects = changes.filter(({ newMode, newObject }) => isFile(newMode) && found.has(newObject))
  const gone = changes.filter(({ newMode }) => newMode === absent)
  const stood = await baseLines(runContext, [...suspects, ...gone])
  for (const change of suspects) {
    const { lines, secrets } = found.get(change.newObject) ?? { lines: [], secrets: [] }
    const added = secrets.filter(({ from, to }) => lines.slice(from - 1, to).some((line) => !stood(change, line)))
    if (added.length > 0) bad.set(change.path, textOf(added))
  }
  return bad
}

const search = async (runContext: RunContext, { base, tree }: ChangeList): Promise<SecretSearch> => {
  const changes = await runContext.context.ports.git.changesBetween(runContext.context.shadow, base, tree)
  const { found, tooLarge } = await searchNew(runContext, changes)
  const unread = changes.filter(({ newMode, newObject }) => isFile(newMode) && tooLarge.has(newObject))
  return { tree, found: await withoutKnown(runContext, changes, found), tooLarge: unread.map(({ path }) => path) }
}

/** Searched once per tree: before it is accepted, and again by an engine that re-attaches to the run. */
export const secretLines = async (runContext: RunContext, found: ChangeList): Promise<SecretSearch> => {
  if (runContext.secretSearch?.tree !== found.tree) runContext.secretSearch = await search(runContext, found)
  return runContext.secretSearch
}

/** Notes for the verdict about files that were too large to search. */
export const unsearchedNotes = ({ tooLarge }: SecretSearch): string[] =>
  tooLarge.map(
    (path) => `${path} is larger than ${limits.mostBytesEach / mebibyte} MiB and was not searched for secrets`,
  )
