/** The breaker: which accounts are at their limit, as seen from this engine's harnesses, and nothing is launched on those. */
import type { AccountLimit } from '../../domain/account.ts'
import type { Launch, Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import { accountOf } from '../../harness/account.ts'
import { loginStamp, renewedLogin } from '../../harness/logins.ts'
import { limitedAccounts } from '../../store/account.ts'
import type { Queryable } from '../../store/db.ts'
import { listRuns } from '../../store/run.ts'
import type { Context } from '../core/context.ts'
import { harnessNamed, harnessNames, harnessesHere } from './harness-choice.ts'

/** The account behind the name of a harness, here. */
export const accountFor = (context: Context, name: string): string => {
  const { driver, harness } = harnessNamed(context.config(), name)
  const { environment, host, ports } = context
  return accountOf({
    ...{ driver, environment, host, exists: (path: string) => ports.files.existsSync(path) },
    ...(harness.command === undefined ? {} : { command: harness.command }),
  })
}

/** All names of harnesses here that use an account. */
export const namesOn = (context: Context, account: string): string[] =>
  harnessNames(context.config()).filter((name) => accountFor(context, name) === account)

/** What keeps a harness from being launched here now; undefined = nothing does. */
export const limitOn = async (context: Context, db: Queryable, name: string): Promise<AccountLimit | undefined> => {
  const limits = await limitedAccounts(db)
  if (limits.length === 0) return undefined
  const account = accountFor(context, name)
  return limits.find((limit) => limit.account === account)
}

/** How the login of a harness stands, for `loginRenewedSince`. */
export const loginNow = ({ config, environment, ports }: Context, name: string): string | null =>
  loginStamp(harnessNamed(config(), name).driver, { environment, files: ports.files })

/** The file of the login of a harness, if it was renewed after this launch began. */
export const loginRenewedSince = (
  { config, environment, ports }: Context,
  name: string,
  launch: Launch | undefined,
): string | undefined =>
  renewedLogin(harnessNamed(config(), name).driver, {
    ...{ environment, files: ports.files, before: launch?.loginBefore },
  })

/**
 * The next harness of a task whose account is at its limit: its first choice and the configured ones in their order, those
 * that can be launched. A task that names a model stays with its harness, because another one does not know that model.
 */
export const nextHarness = async (context: Context, task: Task, run: Run): Promise<string | undefined> => {
  const failover = context.config().harness.failover ?? []
  if (failover.length === 0 || task.model !== null) return undefined
  const [first] = await listRuns(context.db, { taskId: task.id })
  const here = harnessesHere(context)
  const own = accountFor(context, run.harness)
  const { default: standard = run.harness } = context.config().harness
  // Where the first run began under a harness that stood in, the configured one is not among those.
  const others = [...new Set([first?.harness ?? run.harness, standard, ...failover])].filter(
    (name) => here.includes(name) && accountFor(context, name) !== own,
  )
  return (await freeHarnesses(context, others))[0]
}

/** The first configured harness that did not work on the task in its present count, for work that this one does not get right. */
export const untriedHarness = async (context: Context, task: Task, run: Run): Promise<string | undefined> => {
  const failover = context.config().harness.failover ?? []
  if (failover.length === 0 || task.model !== null) return undefined
  const runs = (await listRuns(context.db, { taskId: task.id })).filter(({ epoch }) => epoch > task.countFromEpoch)
  const tried = new Set([run.harness, ...runs.map(({ harness }) => harness)])
  const here = harnessesHere(context)
  return (
    await freeHarnesses(
      context,
      failover.filter((name) => here.includes(name) && !tried.has(name)),
    )
  )[0]
}

/** Those of these harnesses whose account takes a launch. */
export const freeHarnesses = async (context: Context, names: readonly string[]): Promise<string[]> => {
  const limited = new Set((await limitedAccounts(context.db)).map(({ account }) => account))
  return limited.size === 0 ? [...names] : names.filter((name) => !limited.has(accountFor(context, name)))
}

/** For each harness here that cannot be launched now, the first of `harness.failover` that can: tasks that are still queued take it. */
export const standInsFor = (
  context: Context,
  here: readonly string[],
  free: readonly string[],
): Record<string, string> => {
  const standIn = (context.config().harness.failover ?? []).find((name) => free.includes(name))
  if (standIn === undefined) return {}
  return Object.fromEntries(here.filter((name) => !free.includes(name)).map((name) => [name, standIn]))
}
