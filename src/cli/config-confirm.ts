/** The work of `unstuck config confirm`: shows what waits, and confirms exactly that. */
import type { ConfigStateView } from '../api/contract.ts'
import { AppError, exitCodes } from '../errors.ts'
import type { JsonOption } from './command-options.ts'
import { connectToExisting } from './engine/connect-to-change.ts'
import { printJson, printLine, type Io } from './io.ts'
import { createPaint, safe } from './render.ts'

type Waiting = NonNullable<ConfigStateView['waiting']>

const show = (io: Io, { digest, changes }: Waiting): void => {
  const paint = createPaint(io.colours)
  printLine(io, 'Changed while a program of an agent could have changed it; it allows more than before:')
  for (const { key, before, after } of changes) {
    printLine(io, `  ${paint.bold(safe(key))}`)
    printLine(io, `    ${paint.bad(`- ${safe(before)}`)}`)
    printLine(io, `    ${paint.good(`+ ${safe(after)}`)}`)
  }
  printLine(io, paint.dim(`  digest ${digest}`))
}

/** Without a terminal the digest says which change a person has seen. */
const isConfirmed = async (io: Io, { digest }: Waiting, given: string | undefined): Promise<boolean> => {
  if (given !== undefined) return true
  if (io.prompt === undefined)
    throw new AppError(
      'USAGE',
      `there is no terminal to ask in; to confirm what is shown: unstuck config confirm --digest ${digest}`,
    )
  const typed = await io.prompt.line('Confirm this change? [y/N] ', io.signal)
  return /^y(es)?$/i.test(typed?.trim() ?? '')
}

export const configConfirmCommand = async (io: Io, options: JsonOption & { digest?: string }): Promise<number> => {
  const client = await connectToExisting(io)
  const { waiting } = await client.get<ConfigStateView>('/config')
  if (waiting === null) {
    // The engine says what is wrong with a digest of a change that no longer waits, and refuses an agent that asks.
    if (options.digest !== undefined) await client.post('/config/confirm', { digest: options.digest })
    printLine(io, 'No change of the configuration waits for you.')
    return exitCodes.ok
  }
  if (options.json !== true) show(io, waiting)
  if (!(await isConfirmed(io, waiting, options.digest))) {
    printLine(io, 'Nothing was confirmed; the settings in use stay. To refuse the change, undo it in the file.')
    return exitCodes.needsPerson
  }
  await client.post('/config/confirm', { digest: options.digest ?? waiting.digest })
  if (options.json === true) printJson(io, waiting)
  else printLine(io, 'Confirmed; it applies from the next launch of an agent on.')
  return exitCodes.ok
}
