/** `unstuck doctor`: checks the promises on the store, through the engine or, where none runs, by itself. */
import type { DoctorView } from '../../api/contract.ts'
import { exitCodes } from '../../errors.ts'
import { json, type JsonOption, type Register } from '../command.ts'
import { line, printJson, type Io } from '../io.ts'
import { createPaint } from '../render.ts'

const read = async (io: Io): Promise<DoctorView> => {
  const { findEngine } = await import('../engine/connect.ts')
  const { placeOf } = await import('../engine/place.ts')
  const place = await placeOf(io)
  const client = await findEngine(place)
  if (client !== undefined) return client.get<DoctorView>('/doctor')
  const { withStore } = await import('../engine/offline.ts')
  const { realPorts } = await import('../../runtime/core/ports.ts')
  const { doctor } = await import('../../runtime/people/doctor.ts')
  return withStore(io, place, (offline) => doctor({ ...offline, ports: realPorts }))
}

const doctor = async (io: Io, options: JsonOption): Promise<number> => {
  const view = await read(io)
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
    .description('check the promises on the live store')
    .option(...json)
    .action((options: JsonOption) => act((io) => doctor(io, options)))
}
