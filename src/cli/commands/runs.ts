/** `unstuck runs`: lists all runs, or those of a task or in some states. */
import { outcomeText } from '../../domain/proof.ts'
import { InvalidArgumentError } from 'commander'
import type { Run } from '../../api/contract.ts'
import { phaseWords, runStates } from '../../domain/run.ts'
import { exitCodes } from '../../errors.ts'
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'
import { printLine, printJson, type Io } from '../io.ts'
import { leftAtWork, safe } from '../render.ts'
import { durationText, whenText } from '../times.ts'
import { cutToWidth } from '../width.ts'
import { defined } from '../../domain/defined.ts'

interface RunsOptions extends JsonOption {
  task?: string
  state?: string
}

/** Also the engine checks it; here the message names the option. */
const statesGiven = (text: string): string => {
  const states = text.split(',')
  if (states.every((state) => runStates.some((known) => known === state))) return text
  throw new InvalidArgumentError(`Allowed: ${runStates.join(', ')}; several are separated by commas.`)
}

const endText = ({ state, phase, verdict, errorMeta }: Run, isEngineGone: boolean): string => {
  if (state === 'running') return `${isEngineGone ? leftAtWork : state} (${phaseWords[phase]})`
  if (state === 'success') return `succeeded: ${safe(outcomeText(verdict?.outcome ?? 'not verified', verdict?.proof))}`
  return `${state}${errorMeta === null ? '' : `: ${cutToWidth(safe(errorMeta.message), 100)}`}`
}

export const runLine = (run: Run, now: Date, isEngineGone = false): string => {
  const launches = run.launches.length > 1 ? `, ${run.launches.length} launches` : ''
  const lasted = (Date.parse(run.endedAt ?? now.toISOString()) - Date.parse(run.startedAt)) / 1000
  const when = `${whenText(run.startedAt, now)}, ${run.endedAt === null ? 'for' : 'took'} ${durationText(lasted)}`
  return `${run.id}  ${when}  task ${run.taskId}, attempt ${run.number}  ${run.harness}${launches}  ${endText(run, isEngineGone)}`
}

const runs = async (io: Io, options: RunsOptions): Promise<number> => {
  const { readOnly } = await import('../engine/read-only.ts')
  const { task, state } = options
  const filter = new URLSearchParams({
    ...defined({ task, state }),
  })
  const { found, isEngineGone } = await readOnly(io, async ({ client, isEngineGone }) => ({
    ...{ found: await client.all<Run>(`/runs?${filter.toString()}`), isEngineGone },
  }))
  if (options.json === true) printJson(io, found)
  else {
    for (const run of found.toReversed()) printLine(io, runLine(run, new Date(), isEngineGone))
    if (isEngineGone && found.some((run) => run.state === 'running'))
      printLine(io, 'What was interrupted continues with: unstuck up')
  }
  return exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('runs')
    .description('list runs, newest first')
    .option('--task <id>', 'show only runs of this task')
    .option('--state <state>', `show only runs in this state (${runStates.join(', ')}; several: a,b)`, statesGiven)
    .option(...jsonOption)
    .action((options: RunsOptions) => act((io) => runs(io, options)))
}
