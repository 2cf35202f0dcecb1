/**
 * Measures how much work is finished without a person: seventeen faults of an agent and its environment under a plain loop, a loop
 * with a pause and feedback, and Unstuck with a command and with Claude, all with the same scripted agent. The result is what is on
 * main and which processes still run. Target: Unstuck is right in all cells, claims nothing false, leaves no process, and asks a
 * question only where one is expected.
 * `node bench/autonomy.ts [--fault NAME]… [--form NAME]… [--jobs 2] [--verbose] [--keep]`
 *
 * With `--set` it plays the fixed set of faults (autonomy/set) on Unstuck alone, with its defaults and shorter waits, and prints
 * per entry the result, what it cost and the families of recovery that acted (rung:successes/attempts), then the summary. Target:
 * 95 % of the recoverable entries end without a person; no wrong "done" and no secret on main, else the exit status is 1.
 * `node bench/autonomy.ts --set [--only NAME]… [--jobs 2] [--seconds 600] [--verbose] [--keep]`; a part of a name is enough.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runCell, type CellOutcome } from './autonomy/cell.ts'
import { faultCases, type FaultCase } from './autonomy/faults.ts'
import { forms } from './autonomy/forms.ts'
import { playSet } from './autonomy/set/command.ts'
import { printResult } from './measure.ts'

const { values } = parseArgs({
  options: {
    fault: { type: 'string', multiple: true },
    form: { type: 'string', multiple: true },
    jobs: { type: 'string', default: '2' },
    verbose: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    set: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    seconds: { type: 'string', default: '600' },
  },
})

if (values.set) {
  const { verbose, keep, only = [] } = values
  const options = { only, verbose, keep, jobs: Number(values.jobs), seconds: Number(values.seconds) }
  process.exit(await playSet(options))
}

/** Much longer than any cell that ends; a limit that names a minute takes up to two minutes. */
const loopSeconds = 40
const engineSeconds = 240

const chosen = <T>(all: readonly T[], nameOf: (entry: T) => string, names: readonly string[] | undefined): T[] => {
  const unknown = names?.find((name) => !all.some((entry) => nameOf(entry) === name))
  if (unknown !== undefined) throw new Error(`there is no ${unknown}; there are ${all.map(nameOf).join(', ')}`)
  return all.filter((entry) => names?.includes(nameOf(entry)) ?? true)
}

const chosenForms = chosen(Object.keys(forms), (name) => name, values.form)
const chosenFaults = chosen(faultCases, ({ name }) => name, values.fault)
const cache = mkdtempSync(join(tmpdir(), 'unstuck-autonomy-cache-'))

const cells = chosenFaults.flatMap((wanted) => chosenForms.map((formName) => ({ wanted, formName })))
const outcomes: CellOutcome[] = []

const markOf = ({ right, falseDone, left, questions }: CellOutcome): string =>
  [
    right ? 'right' : 'WRONG',
    ...(falseDone ? ['false done'] : []),
    ...(questions > 0 ? [`${questions} asked`] : []),
    ...(left > 0 ? [`${left} left`] : []),
  ].join(', ')

const play = async ({ wanted, formName }: { wanted: FaultCase; formName: string }): Promise<void> => {
  const form = forms[formName]
  if (form === undefined) return
  const seconds = formName.startsWith('unstuck') ? engineSeconds : loopSeconds
  const outcome = await runCell({ form, formName, wanted, cache, seconds, keep: values.keep })
  outcomes.push(outcome)
  const problems = outcome.problems.length === 0 ? '' : `: ${outcome.problems.join('; ')}`
  const { fault, launches } = outcome
  console.error(
    `${fault} | ${formName} | ${markOf(outcome)} (${Math.round(outcome.seconds)} s, ${launches} launches)${problems}`,
  )
  if (values.verbose && outcome.said !== '') console.error(outcome.said.replaceAll(/^/gm, '    '))
}

/** Starts the cells in order, with at most `jobs` running. */
const worker = async (): Promise<void> => {
  for (let next = cells.shift(); next !== undefined; next = cells.shift()) await play(next)
}
try {
  await Promise.all(Array.from({ length: Number(values.jobs) }, worker))
} finally {
  rmSync(cache, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}

const markAt = (fault: string, form: string): string => {
  const found = outcomes.find((outcome) => outcome.fault === fault && outcome.form === form)
  return found === undefined ? '' : markOf(found)
}

const rows = [
  ['fault', ...chosenForms],
  ...chosenFaults.map(({ name }) => [name, ...chosenForms.map((form) => markAt(name, form))]),
]
const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
for (const row of rows)
  console.log(
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )

const wantsQuestion = (fault: string): boolean => faultCases.find(({ name }) => name === fault)?.wanted === 'question'

for (const form of chosenForms) {
  const mine = outcomes.filter((outcome) => outcome.form === form)
  const sum = (count: (outcome: CellOutcome) => number): number =>
    mine.reduce((total, entry) => total + count(entry), 0)
  printResult(`autonomy ${form}`, {
    right: sum(({ right }) => Number(right)),
    of: mine.length,
    falseDone: sum(({ falseDone }) => Number(falseDone)),
    left: sum(({ left }) => left),
    questions: sum(({ questions }) => questions),
    questionsNotWanted: sum(({ fault, questions }) => (wantsQuestion(fault) ? 0 : questions)),
    seconds: sum(({ seconds }) => seconds),
  })
}
