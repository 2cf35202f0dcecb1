/** The circuit breaker for accounts: which accounts are at their limit, so that no harness of this engine is launched on them. */
import type { AccountLimit } from '../../domain/account.ts'
import { standInOf } from '../../domain/claimability.ts'
import type { Launch, Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import { accountOf } from '../../harness/account.ts'
import { loginStamp, renewedLogin } from '../../harness/cli-login.ts'
import { limitedAccounts } from '../../store/account.ts'
import type { Queryable } from '../../store/db.ts'
import { listRuns } from '../../store/run.ts'
import type { Context } from '../core/context.ts'
import { harnessNamed, harnessNames, harnessesHere } from './harness-choice.ts'
import { forgetLimitsElsewhere, limitsElsewhere, publishLimits } from './limits-elsewhere.ts'
import { defined } from '../../domain/defined.ts'

type AccountPlace = Pick<Context, 'config' | 'environment' | 'host' | 'ports'>

/** Id of the account that this harness uses on this host. */
export const accountFor = (context: AccountPlace, name: string): string => {
  const { driver, harness } = harnessNamed(context.config(), name)
  const { environment, host, ports } = context
  return accountOf({
    ...{ driver, environment, host, exists: (path: string) => ports.files.existsSync(path) },
    ...defined({ command: harness.command }),
  })
}

/** Names of all harnesses on this host that use the account. */
export const harnessesOnAccount = (context: AccountPlace, account: string): string[] =>
  harnessNames(context.config()).filter((name) => accountFor(context, name) === account)

/** The limits that other repositories met on accounts that this one uses, with its own names of their harnesses. */
export const foreignLimits = (context: AccountPlace & Pick<Context, 'clock' | 'stateDir'>): AccountLimit[] =>
  limitsElsewhere(context)
    .map((limit) => ({ ...limit, harnesses: harnessesOnAccount(context, limit.account) }))
    .filter(({ harnesses }) => harnesses.length > 0)

/**
 * A person retried these tasks, given as they were before: the limits that parked some of them no longer count, wherever they were met,
 * because the account may have a higher one by now.
 */
export const liftForeignLimits = async (context: Context, tasks: readonly Task[]): Promise<void> => {
  const parked = tasks.filter(({ status }) => status === 'blocked(quota_wait)')
  if (parked.length === 0) return
  const accounts = new Set(parked.map(({ harness }) => accountFor(context, harness)))
  forgetLimitsElsewhere(context, (account) => accounts.has(account))
  await publishLimits(context)
}

/** Of this repository and of the others. */
const limitsNow = async (context: Context, db: Queryable): Promise<AccountLimit[]> => [
  ...(await limitedAccounts(db)),
  ...limitsElsewhere(context),
]

/** The limit that blocks this harness now; undefined = it can be launched. */
export const accountLimitOf = async (
  context: Context,
  db: Queryable,
  name: string,
): Promise<AccountLimit | undefined> => {
  const limits = await limitsNow(context, db)
  if (limits.length === 0) return undefined
  const account = accountFor(context, name)
  return limits.find((limit) => limit.account === account)
}

/** Stamp of a harness's current login, for `loginRenewedSince`. */
export const currentLoginStamp = ({ config, environment, ports }: Context, name: string): string | null =>
  loginStamp(harnessNamed(config(), name).driver, { environment, files: ports.files })

/** The login file of a harness, if the login was renewed since this launch began. */
export const loginRenewedSince = (
  { config, environment, ports }: Context,
  name: string,
  launch: Launch | undefined,
): string | undefined =>
  renewedLogin(harnessNamed(config(), name).driver, {
    ...{ environment, files: ports.files, before: launch?.loginBefore },
  })

/**
 * The next harness for a task whose account is at its limit: the first one that can be launched of the task's original harness and
 * `harness.failover`. A task that names a model stays with its harness, because another harness does not know that model.
 */
export const nextHarness = async (context: Context, task: Task, run: Run): Promise<string | undefined> => {
  const failover = context.config().harness.failover ?? []
  if (failover.length === 0 || task.model !== null) return undefined
  const [first] = await listRuns(context.db, { taskId: task.id })
  const here = harnessesHere(context)
  const own = accountFor(context, run.harness)
  const { default: standard = run.harness } = context.config().harness
  // The first run may have begun with a stand-in, so the default harness is added.
  // A role of a loop may have another harness than its task.
  const others = [...new Set([task.harness, first?.harness ?? run.harness, standard, ...failover])].filter(
    (name) => here.includes(name) && accountFor(context, name) !== own,
  )
  return (await freeHarnesses(context, others))[0]
}

/** The first harness of `harness.failover` that has not tried the task since its attempts were last reset; for work that fails with the current harness. */
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

/** The harnesses among these whose account is not at its limit. */
export const freeHarnesses = async (context: Context, names: readonly string[]): Promise<string[]> => {
  const limited = new Set((await limitsNow(context, context.db)).map(({ account }) => account))
  return limited.size === 0 ? [...names] : names.filter((name) => !limited.has(accountFor(context, name)))
}

/** Stand-ins for queued tasks: maps each harness that cannot be launched now to the first of `harness.failover` that can. */
export const standInsFor = (
  context: Context,
  here: readonly string[],
  free: readonly string[],
): Record<string, string> => {
  const standIn = standInOf(context.config().harness.failover ?? [], free)
  if (standIn === undefined) return {}
  return Object.fromEntries(here.filter((name) => !free.includes(name)).map((name) => [name, standIn]))
}
