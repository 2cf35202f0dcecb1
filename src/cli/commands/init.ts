/** `unstuck init`: a first configuration; never over an existing one. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exitCodes } from '../../errors.ts'
import type { Register } from '../command.ts'
import { line, type Io } from '../io.ts'

const starterConfig = `${JSON.stringify({ maxParallel: 2, autoMerge: false, verify: { timeoutSeconds: 600 } }, null, 2)}\n`

const init = async (io: Io): Promise<number> => {
  const { makeRoot, placeOf } = await import('../engine/place.ts')
  const place = await placeOf(io)
  const { repository } = place
  const path = join(repository.root, '.unstuck', 'config.json')
  if (existsSync(path)) {
    line(io, `${path} exists already and stays as it is.`)
    return exitCodes.ok
  }
  makeRoot(place)
  mkdirSync(join(repository.root, '.unstuck'), { recursive: true })
  writeFileSync(path, starterConfig, { flag: 'wx' })
  line(io, `Wrote ${path}. All keys: docs/config.md. Next: unstuck run "<what you want done>"`)
  return exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('init')
    .description('write a first .unstuck/config.json')
    .action(() => act(init))
}
