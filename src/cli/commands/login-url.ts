/** `unstuck login-url`: prints a new one-time login; starts the engine if none is running. */
import type { LoginUrl } from '../../api/contract.ts'
import { exitCodes } from '../../errors.ts'
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'
import { printLine, printJson, type Io } from '../io.ts'

const loginUrl = async (io: Io, options: JsonOption): Promise<number> => {
  const { connect } = await import('../engine/connect.ts')
  const { client } = await connect(io, { start: true })
  const login = await client.post<LoginUrl>('/login-codes')
  if (options.json === true) printJson(io, login)
  else printLine(io, login.url)
  return exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('login-url')
    .description('print an address that logs a browser in; it works once, within ten minutes')
    .option(...jsonOption)
    .action((options: JsonOption) => act((io) => loginUrl(io, options)))
}
