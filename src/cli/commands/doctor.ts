/** `unstuck doctor`: checks the invariants of the store, through the engine or, if none is running, directly. */
import type { DoctorView } from '../../api/contract.ts'
import { exitCodes } from '../../errors.ts'
import { json, type JsonOption, type Register } from '../command.ts'
import { line, printJson, type Io } from '../io.ts'
import { createPaint } from '../render.ts'

const doctor = async (io: Io, options: JsonOption): Promise<number> => {
  const { reading } = await import('../engine/reading.ts')
  const view = await reading(io, ({ client }) => client.get<DoctorView>('/doctor'))
  const paint = createPaint(io.colours)
  if (options.json === true) printJson(io, view)
  else
    for (const check of view.checks)
      line(io, `${check.ok ? paint.good('ok ') : paint.bad('BAD')} ${check.name}: ${check.detail}`)
  return view.ok ? exitCodes.ok : exitCodes.failed
}

export const register: Register = (program, act) => {
  program
    .command('doctor')
    .description('check that the store, the engines and the goal branches are consistent')
    .option(...json)
    .action((options: JsonOption) => act((io) => doctor(io, options)))
}
