/** What a person asked of a run at work: its end, or that its agent reads a message at once. */
import { lastLaunch, type Run } from '../../domain/run.ts'
import type { RunContext } from '../core/run-context.ts'
import { stopLaunch } from './stop-agent.ts'

const interrupt = async (runContext: RunContext, launch: number): Promise<void> => {
  const { context, run, paths } = runContext
  if (lastLaunch(run)?.number !== launch || runContext.interrupted === launch) return
  // An agent that waits at its gate is interrupted once it runs: it would read nothing before.
  if (context.ports.processes.launchState(paths.launch(launch)).state !== 'running') return
  runContext.interrupted = launch
  await stopLaunch(runContext, 'message')
}

/** Called in each pass with the run as the store has it. A stop that fails is tried again in the next one. */
export const heedPerson = (runContext: RunContext, { stopAsked, message }: Run): void => {
  if (stopAsked !== null) runContext.abort.abort('cancelled')
  else if (message !== null)
    interrupt(runContext, message.launch).catch((error: unknown) => {
      delete runContext.interrupted
      runContext.context.log.warn({ run: runContext.run.id, error: String(error) }, 'an agent could not be interrupted')
    })
}
