/**
 * Compares test/vocabulary.json with the names of the original design (test/fixture/vocabulary.txt): each name is listed once,
 * as `built` with the test that observes it, as `planned`, or as `not a name` with the reason. With `--report <file>` (a JSON
 * report of vitest; several are possible) the test of each built name must have passed.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { parseJson } from '../src/validation.ts'
import { repositoryRoot } from './root.ts'

const entrySchema = z.discriminatedUnion('status', [
  z.strictObject({
    name: z.string(),
    status: z.literal('built'),
    test: z.strictObject({
      file: z.string(),
      title: z.string(),
      /** The module that contains the title, if `file` only runs its suite. */
      source: z.string().optional(),
      /** The name in this project, if it differs. */
      as: z.string().optional(),
    }),
  }),
  z.strictObject({ name: z.string(), status: z.literal('planned') }),
  z.strictObject({ name: z.string(), status: z.literal('not a name'), reason: z.string().min(10) }),
])

export type Entry = z.output<typeof entrySchema>
type Built = Extract<Entry, { status: 'built' }>

/** The tests that passed, as `<file> <title>`. */
export type PassedTests = ReadonlySet<string>

const reportSchema = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      assertionResults: z.array(z.object({ title: z.string(), status: z.string() })),
    }),
  ),
})

export const passedIn = (report: unknown, root: string): PassedTests => {
  const { testResults } = reportSchema.parse(report)
  return new Set(
    testResults.flatMap(({ name, assertionResults }) =>
      assertionResults
        .filter((test) => test.status === 'passed')
        .map((test) => `${name.startsWith(root) ? name.slice(root.length) : name} ${test.title}`),
    ),
  )
}

/** CI takes a name for built only where its test ran; that is told here, before an hour of tests. */
const onlyInLongForm = (text: string, title: string): boolean =>
  /runIf\(isLongForm\)\(\s*$/.test(text.slice(0, Math.max(0, text.indexOf(`'${title}'`))))

const problemsOfBuilt = (entry: Built, read: (path: string) => string | undefined, passed?: PassedTests): string[] => {
  const { file, title, source = file, as = entry.name } = entry.test
  const text = read(source)
  if (text === undefined || read(file) === undefined)
    return [`${entry.name}: ${source} (run by ${file}) does not exist`]
  const found: string[] = []
  if (!text.includes(`'${title}'`)) found.push(`${entry.name}: ${source} has no test '${title}'`)
  if (onlyInLongForm(text, title)) found.push(`${entry.name}: '${title}' of ${source} is not in the form that CI runs`)
  if (!text.includes(as)) found.push(`${entry.name}: ${source} does not mention ${as}`)
  if (passed !== undefined && !passed.has(`${file} ${title}`))
    found.push(`${entry.name}: '${title}' of ${file} did not run and pass`)
  return found
}

/** Returns one line for each problem. */
export const problems = (
  entries: readonly Entry[],
  names: readonly string[],
  read: (path: string) => string | undefined,
  passed?: PassedTests,
): string[] => {
  const counted = new Map<string, number>()
  for (const { name } of entries) counted.set(name, (counted.get(name) ?? 0) + 1)
  return [
    ...names.filter((name) => !counted.has(name)).map((name) => `${name}: is missing in test/vocabulary.json`),
    ...[...counted.keys()]
      .filter((name) => !names.includes(name))
      .map((name) => `${name}: is not in the list of names`),
    ...[...counted].filter(([, count]) => count > 1).map(([name]) => `${name}: is listed more than once`),
    ...entries.filter((entry) => entry.status === 'built').flatMap((entry) => problemsOfBuilt(entry, read, passed)),
  ]
}

export const readerIn =
  (root: string) =>
  (path: string): string | undefined => {
    try {
      return readFileSync(join(root, path), 'utf8')
    } catch {
      return undefined // the caller reports the missing file
    }
  }

export const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '')

export const entriesIn = (text: string): Entry[] => {
  const json = parseJson(text)
  if (!json.ok) throw new Error(`test/vocabulary.json is not JSON (${json.problem})`)
  return z.array(entrySchema).parse(json.value)
}

const check = (reports: readonly string[]): number => {
  const read = readerIn(repositoryRoot)
  const entries = entriesIn(read('test/vocabulary.json') ?? '')
  const names = linesOf(read('test/fixture/vocabulary.txt') ?? '')
  const passed = new Set(
    reports.flatMap((path) => [...passedIn(JSON.parse(readFileSync(path, 'utf8')), repositoryRoot)]),
  )
  const found = problems(entries, names, read, reports.length === 0 ? undefined : passed)
  for (const problem of found) console.error(problem)
  const count = (status: Entry['status']): number => entries.filter((entry) => entry.status === status).length
  console.log(
    `${names.length} names: ${count('built')} built, ${count('planned')} planned, ${count('not a name')} not a name; ${found.length} problems`,
  )
  return found.length === 0 ? 0 : 1
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { report: { type: 'string', multiple: true } } })
  process.exitCode = check(values.report ?? [])
}
