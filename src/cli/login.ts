/** The work of `unstuck login`. */
import type { TakenLoginJson } from '../api/contract.ts'
import { exitCodes } from '../errors.ts'
import { loginVariables } from '../harness/drivers.ts'
import type { JsonOption } from './command-options.ts'
import { connectToExisting } from './engine/connect-to-change.ts'
import { printJson, printLine, type Io } from './io.ts'
import { countText } from './times.ts'
import { userName } from './user-name.ts'

export const loginCommand = async (io: Io, { json = false }: JsonOption): Promise<number> => {
  const names = loginVariables.filter((name) => (io.environment[name] ?? '') !== '')
  const variables = Object.fromEntries(names.map((name) => [name, io.environment[name] ?? '']))
  const client = await connectToExisting(io)
  const found = await client.post<TakenLoginJson>('/login', { variables, by: userName() })
  if (json) {
    printJson(io, found)
    return exitCodes.ok
  }
  const { taken, retried } = found
  if (taken.length > 0)
    printLine(
      io,
      `Agents get ${taken.join(', ')} of this shell from now on. The engine keeps it in memory, until it is stopped.`,
    )
  else
    printLine(
      io,
      names.length === 0
        ? `No key of an agent CLI is set in this shell (${loginVariables.join(', ')}); a login in a file of the CLI is read at each launch.`
        : `The engine has ${names.join(', ')} already.`,
    )
  printLine(
    io,
    retried.length === 0
      ? 'No task waits for a login.'
      : `${countText(retried.length, 'task')} that could not log in: tried again (${retried.join(', ')}).`,
  )
  return exitCodes.ok
}
