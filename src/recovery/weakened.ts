/**
 * Whether a change weakened tests: tests deleted, skipped or focused, assertions removed or loosened. Counted per language
 * family from the text before and after. A test that moved to another file is not lost. The result is a list for the judge,
 * not a proof of bad intent. Pure.
 */
import type { Weakening } from '../domain/run.ts'
import { testFamilies, snapshotFile, type TestFamily } from './test-families.ts'

export interface TextChange {
  path: string
  /** Undefined where the file does not exist. */
  before: string | undefined
  after: string | undefined
}

interface Counts {
  names: string[]
  skips: number
  focused: number
  assertions: number
  weak: number
}

const none: Counts = { names: [], skips: 0, focused: 0, assertions: 0, weak: 0 }

/** Test files are small. A larger file is not counted, so that an agent's file cannot cost time. */
const maxText = 512 * 1024
const maxListed = 50

const countOf = (pattern: RegExp | undefined, text: string): number =>
  pattern === undefined ? 0 : [...text.matchAll(pattern)].length

const read = (family: TestFamily, text: string | undefined): Counts => {
  if (text === undefined || text.length > maxText) return none
  // Code in comments does not run.
  const live = family.comment === undefined ? text : text.replace(family.comment, '')
  const names = [...live.matchAll(family.test)].map(
    (match) =>
      match
        .slice(1)
        .findLast((group) => group !== undefined)
        ?.trim() ?? '',
  )
  const assertions = countOf(family.assertion, live)
  return {
    names,
    skips: countOf(family.skip, live),
    focused: countOf(family.only, live),
    assertions,
    weak: Math.min(assertions, countOf(family.weak, live)),
  }
}

interface Read {
  path: string
  deleted: boolean
  before: Counts
  after: Counts
}

const sum = (files: readonly Read[], of: (file: Read) => number): number =>
  files.reduce((total, file) => total + of(file), 0)

/** Tests that no file contains any more, by the file they were in. */
const lostIn = (files: readonly Read[]): Map<Read, string[]> => {
  const left = new Map<string, number>()
  for (const name of files.flatMap(({ after }) => after.names)) left.set(name, (left.get(name) ?? 0) + 1)
  const lost = new Map<Read, string[]>()
  // A file that still has the name keeps its test. Only surplus occurrences can be tests that moved.
  for (const file of files.toSorted((a, b) => Number(a.deleted) - Number(b.deleted))) {
    for (const name of file.before.names) {
      const count = left.get(name) ?? 0
      left.set(name, count - 1)
      if (count <= 0) lost.set(file, [...(lost.get(file) ?? []), name])
    }
  }
  return lost
}

/** If the total grew, the files in which it grew. Growth that another file offsets is a move. */
const grown = (files: readonly Read[], kind: Weakening['kind'], of: (counts: Counts) => number): Weakening[] => {
  const more = (file: Read): number => of(file.after) - of(file.before)
  if (sum(files, more) <= 0) return []
  return files
    .filter((file) => more(file) > 0)
    .map((file) => ({ kind, path: file.path, count: more(file), detail: '' }))
}

const assertionsOf = (files: readonly Read[]): Weakening[] => {
  const kept = files.filter((file) => !file.deleted)
  const removed = grown(kept, 'assertion removed', (counts) => -counts.assertions)
  const fewerStrong = sum(kept, ({ before, after }) => before.assertions - before.weak - after.assertions + after.weak)
  if (fewerStrong <= 0) return removed
  return [...removed, ...grown(kept, 'assertion loosened', ({ weak }) => weak)]
}

/** At least as many tests and assertions as before, under other names. */
const isRenamed = ({ deleted, before, after }: Read): boolean =>
  !deleted &&
  after.names.length >= before.names.length &&
  after.assertions - after.weak >= before.assertions - before.weak &&
  after.skips <= before.skips

const kindOfLoss = (file: Read): Weakening['kind'] => {
  if (file.deleted) return 'file deleted'
  return isRenamed(file) ? 'test renamed' : 'test removed'
}

/** Deleted files with assertions but no named test, unless other files gained as many assertions. */
const barelyDeleted = (files: readonly Read[]): Weakening[] =>
  sum(files, ({ before, after }) => before.assertions - after.assertions) <= 0
    ? []
    : files
        .filter(({ deleted, before }) => deleted && before.names.length === 0 && before.assertions > 0)
        .map(({ path, before }) => ({
          kind: 'file deleted',
          path,
          count: before.assertions,
          detail: 'bare assertions',
        }))

const ofFamily = (family: TestFamily, changes: readonly TextChange[], run: ReadonlySet<string>): Weakening[] => {
  const files = changes
    .filter(({ path }) => family.file.test(path) || (run.has(path) && family.program?.test(path) === true))
    .map(({ path, before, after }) => ({
      path,
      deleted: before !== undefined && after === undefined,
      before: read(family, before),
      after: read(family, after),
    }))
  const lost = lostIn(files)
  const removed = [...lost].map(([file, names]): Weakening => ({
    kind: kindOfLoss(file),
    path: file.path,
    count: names.length,
    detail: names.slice(0, 10).join('; ').slice(0, 500),
  }))
  return [
    ...removed,
    ...barelyDeleted(files),
    ...grown(files, 'test skipped', ({ skips }) => skips),
    ...grown(files, 'test focused', ({ focused }) => focused),
    // Assertions of removed tests are reported with these tests, not again.
    ...(removed.length > 0 && sum(files, ({ after }) => after.assertions) === 0 ? [] : assertionsOf(files)),
  ]
}

const snapshots = (changes: readonly TextChange[]): Weakening[] =>
  changes
    .filter(({ path, before, after }) => snapshotFile.test(path) && before !== undefined && before !== after)
    .map(({ path, after }) => ({
      kind: 'snapshot changed',
      path,
      count: 1,
      detail: after === undefined ? 'deleted' : '',
    }))

/** Whether a file at this path can contain tests. Other files are not read. */
export const mayHoldTests = (path: string): boolean =>
  snapshotFile.test(path) || testFamilies.some(({ file }) => file.test(path))

/** `run`: programs that checks run; their assertions count like those of tests. */
export const weakeningsIn = (changes: readonly TextChange[], run: ReadonlySet<string> = new Set()): Weakening[] =>
  [...testFamilies.flatMap((family) => ofFamily(family, changes, run)), ...snapshots(changes)].slice(0, maxListed)

export const weakeningText = ({ kind, path, count, detail }: Weakening): string =>
  `${kind}: ${path} (${count})${detail === '' ? '' : `: ${detail}`}`
