/** Self-checks on a live or stopped store: every invariant that can be checked from outside the engine. */
import { join } from 'node:path'
import { endedShown } from '../../domain/goal.ts'
import { serverFacts } from '../../store/connections.ts'
import type { Queryable } from '../../store/db.ts'
import { listLiveGoals } from '../../store/goal.ts'
import { listRuns } from '../../store/run.ts'
import { countBreaches } from '../../store/vitals.ts'
import { hostContext } from '../agent/host-snapshot.ts'
import { isBranchMoved } from '../landing/goal-branch.ts'
import type { Context } from '../core/context.ts'
import { remoteChecks } from '../landing/remote-target.ts'
import type { Files } from '../core/files.ts'
import { statusView } from './views.ts'

export interface Check {
  name: string
  ok: boolean
  detail: string
}

/** Tasks that break the invariant "nothing is silently stuck": they have not ended, and have no next step. */
const stuckTasks = async (db: Queryable): Promise<{ id: string; place: string }[]> => {
  // All ended goals, because an old failed one may still have tasks that have not ended.
  const status = await statusView(db, endedShown.most)
  const living = status.goals.filter((goal) => goal.state !== 'cancelled' && goal.state !== 'done')
  return living.flatMap((goal) =>
    goal.tasks.filter((task) => task.nextStep === null).map((task) => ({ id: task.id, place: task.status })),
  )
}

const storeChecks = async (db: Queryable): Promise<Check[]> => {
  const stuck = await stuckTasks(db)
  const { doubleRuns, dangling, unleased } = await countBreaches(db)
  return [
    {
      name: 'every task has a next step',
      ok: stuck.length === 0,
      detail:
        stuck.length === 0 ? 'no task without an owner' : stuck.map((task) => `${task.id} (${task.place})`).join(', '),
    },
    { name: 'one running run per task', ok: doubleRuns === 0, detail: `${doubleRuns} task(s) with two` },
    {
      name: 'leases belong to running runs',
      ok: dangling === 0 && unleased === 0,
      detail: `${dangling} dangling, ${unleased} missing`,
    },
  ]
}

/** A silent engine breaks no invariant, because its leases are reclaimed, but a person should know about it. */
const engineChecks = async (db: Queryable): Promise<Check[]> => {
  const { engines } = await statusView(db, 0)
  const inService = engines.filter(({ state }) => state !== 'offline')
  const descriptions = inService.map(({ id, host, state, waiting, silent, leads }) => {
    const how = silent ? 'is not responding' : (waiting ?? state)
    return `${id} on ${host} ${how}${leads ? ', leads' : ''}`
  })
  const leaders = inService.filter(({ leads }) => leads)
  return [
    { name: 'engines in service', ok: true, detail: descriptions.length === 0 ? 'none' : descriptions.join('; ') },
    {
      name: 'an engine leads',
      ok: inService.length === 0 || leaders.length > 0,
      detail:
        inService.length === 0 || leaders.length > 0
          ? `${leaders.length} leader(s)`
          : 'no engine judges, merges and recovers; start one: unstuck up',
    },
  ]
}

type CheckedContext = Pick<Context, 'db' | 'repository'> &
  Parameters<typeof hostContext>[0] & { remote?: Context['remote'] }

const goalChecks = async (context: CheckedContext): Promise<Check[]> => {
  const moved: string[] = []
  const live = await listLiveGoals(context.db)
  const { remote } = context
  if (remote !== undefined)
    return remoteChecks(
      { ...context, remote },
      live.filter(({ repoMode, headCommit }) => repoMode === 'remote' && headCommit !== null),
    )
  if (context.repository.url !== undefined)
    return [{ name: 'the git remote answers', ok: true, detail: 'not checked: no engine is running' }]
  for (const goal of live) if (await isBranchMoved(context, goal)) moved.push(goal.id)
  return [
    {
      name: 'goal branches are where the store says',
      ok: moved.length === 0,
      detail: moved.length === 0 ? 'all in place' : `moved: ${moved.join(', ')}`,
    },
  ]
}

/** The server of the store: embedded or given by URL. */
const serverCheck = async (db: Queryable): Promise<Check> => {
  const { version, connections, size } = await serverFacts(db)
  const detail = `PostgreSQL ${version}, ${connections} connection(s), ${Math.ceil(size / 1024 / 1024)} MB`
  return { name: 'the database responds', ok: true, detail }
}

const privateFile = (files: Files, path: string): Check => {
  const mode = files.existsSync(path) ? files.statSync(path).mode & 0o777 : 0o600
  return { name: 'the API token is private', ok: (mode & 0o077) === 0, detail: `mode ${mode.toString(8)}` }
}

/** What agents are told about it, so that a missing tool is seen before a run fails. */
const hostCheck = async (context: CheckedContext): Promise<Check> => {
  const { host, tools } = (await hostContext(context)).snapshot
  const versions = Object.entries(tools).map(([name, version]) => `${name} ${version}`)
  const detail = [`${host.os}, ${host.kernel}, ${host.arch}`, versions.join(', ') || 'no known tool on the PATH'].join(
    '; ',
  )
  return { name: 'this machine', ok: true, detail }
}

export const doctor = async (context: CheckedContext): Promise<{ ok: boolean; checks: Check[] }> => {
  const running = await listRuns(context.db, { state: 'running' })
  const checks = [
    await serverCheck(context.db),
    ...(await storeChecks(context.db)),
    ...(await engineChecks(context.db)),
    ...(await goalChecks(context)),
    privateFile(context.ports.files, join(context.stateDir, 'token')),
    await hostCheck(context),
    { name: 'runs in progress', ok: true, detail: String(running.length) },
  ]
  return { ok: checks.every((check) => check.ok), checks }
}
