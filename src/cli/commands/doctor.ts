/** `unstuck doctor`: checks the invariants of the store, through the engine or, if none is running, directly. */
import type { DoctorView } from '../../api/contract.ts'
import { exitCodes } from '../../errors.ts'
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'
import { printLine, printJson, type Io } from '../io.ts'
import { createPaint } from '../render.ts'

const doctor = async (io: Io, options: JsonOption): Promise<number> => {
  const { readOnly } = await import('../engine/read-only.ts')
  const view = await readOnly(io, ({ client }) => client.get<DoctorView>('/doctor'))
  const paint = createPaint(io.colours)
  if (options.json === true) printJson(io, view)
  else
    for (const check of view.checks)
      printLine(io, `${check.ok ? paint.good('ok ') : paint.bad('BAD')} ${check.name}: ${check.detail}`)
  return view.ok ? exitCodes.ok : exitCodes.failed
}

export const register: Register = (program, act) => {
  program
    .command('doctor')
    .description('check that the store, the engines and the goal branches are consistent')
    .option(...jsonOption)
    .action((options: JsonOption) => act((io) => doctor(io, options)))
}
