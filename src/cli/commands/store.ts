/** `unstuck store new`: begins an empty store where the one of this repository is gone. */
import { AppError, exitCodes } from '../../errors.ts'
import type { Register } from '../command-options.ts'
import { printLine, type Io } from '../io.ts'

/** Throws STORE_LOST if it is gone. */
const lookAtStore = async (io: Io, stateDir: string, repositoryId: string): Promise<void> => {
  const { openForReading } = await import('../../store/open.ts')
  const { configuredDatabase } = await import('../../store/postgres-location.ts')
  const { environment } = io
  const { db } = await openForReading({
    stateDir,
    environment,
    database: configuredDatabase(environment, repositoryId),
  })
  await db.close()
}

const goalBranches = async (io: Io): Promise<string[]> => {
  const { openRepository } = await import('../../workspace/repository.ts')
  const { readRefs } = await import('../../workspace/refs.ts')
  const refs = await readRefs(await openRepository(io.cwd), 'refs/heads/unstuck/goal/')
  return Object.keys(refs).map((ref) => ref.slice('refs/heads/'.length))
}

const begin = async (io: Io): Promise<number> => {
  const { homeOf, requireStore } = await import('../engine/home.ts')
  const home = await homeOf(io)
  requireStore(home)
  try {
    await lookAtStore(io, home.stateDir, home.repository.id)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'STORE_LOST') throw error
    const { forgetStore } = await import('../../store/lost-store.ts')
    forgetStore(home.stateDir)
    const branches = home.repository.url === undefined ? await goalBranches(io) : []
    printLine(io, 'The next command begins an empty store: goals, answers and budgets of the old one are forgotten.')
    for (const branch of branches) printLine(io, `  ${branch} stays; look at it with: git log ${branch}`)
    return exitCodes.ok
  }
  throw new AppError(
    'INPUT_INVALID',
    'the store of this repository is there, and an empty one begins only where it is gone; see it with: unstuck status',
  )
}

export const register: Register = (program, act) => {
  const store = program.command('store').description('what to do where the store of this repository is gone')
  store
    .command('new')
    .description('begin an empty store; branches of earlier goals stay')
    .action(() => act((io) => begin(io)))
}
