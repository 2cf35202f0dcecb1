/** `unstuck store new` and `rebuild`: what a person does where the store of this repository is gone. */
import { AppError, exitCodes } from '../../errors.ts'
import type { Register } from '../command-options.ts'
import type { Home } from '../engine/home.ts'
import { printLine, type Io } from '../io.ts'

const isLost = async ({ environment }: Io, { stateDir, repository }: Home): Promise<boolean> => {
  const { openForReading } = await import('../../store/open.ts')
  const { configuredDatabase } = await import('../../store/postgres-location.ts')
  try {
    const { db } = await openForReading({
      stateDir,
      environment,
      database: configuredDatabase(environment, repository.id),
    })
    await db.close()
    return false
  } catch (error) {
    if (error instanceof AppError && error.code === 'STORE_LOST') return true
    throw error
  }
}

const begin = async (io: Io): Promise<number> => {
  const { homeOf, requireStore } = await import('../engine/home.ts')
  const { refuseRuns } = await import('../person-here.ts')
  const { goalBranchesOf } = await import('../engine/goal-branches.ts')
  const home = await homeOf(io)
  await refuseRuns(io, 'unstuck store new')
  requireStore(home)
  if (!(await isLost(io, home)))
    throw new AppError(
      'INPUT_INVALID',
      'the store of this repository is there, and an empty one begins only where it is gone; see it with: unstuck status',
    )
  const { forgetStore } = await import('../../store/store-markers.ts')
  forgetStore(home.stateDir)
  printLine(io, 'The next command begins an empty store: goals, answers and budgets of the old one are forgotten.')
  for (const { name } of await goalBranchesOf(home)) printLine(io, `  ${name} stays; look at it with: git log ${name}`)
  return exitCodes.ok
}

const rebuild = async (io: Io): Promise<number> => {
  const { homeOf } = await import('../engine/home.ts')
  const { refuseRuns } = await import('../person-here.ts')
  const { forgetStore, hadStore } = await import('../../store/store-markers.ts')
  const { rebuildStore } = await import('../store-rebuild.ts')
  const home = await homeOf(io)
  await refuseRuns(io, 'unstuck store rebuild')
  if (hadStore(home.stateDir) && (await isLost(io, home))) forgetStore(home.stateDir)
  return rebuildStore(io)
}

export const register: Register = (program, act) => {
  const store = program.command('store').description('what to do where the store of this repository is gone')
  store
    .command('new')
    .description('begin an empty store; branches of earlier goals stay')
    .action(() => act((io) => begin(io)))
  store
    .command('rebuild')
    .description(
      'begin a new store where it is gone, and have the work of earlier goal branches checked and taken over',
    )
    .action(() => act((io) => rebuild(io)))
}
