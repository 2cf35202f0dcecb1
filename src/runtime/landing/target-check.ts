/**
 * After a landing the checks of the target branch run once on its new tip: those of the goal's tasks, of the configuration and of the
 * owner's contract. What passed on the same files before is not repeated. If one fails, the goal says so and names the task whose work
 * made it fail; the branch is changed only by a person (`unstuck revert`).
 */
import { taskNameInside } from '../../domain/task-title.ts'
import type { Goal, TargetCheck } from '../../domain/goal.ts'
import { messageOf } from '../../errors.ts'
import { diagnose } from '../../recovery/diagnosis.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { appendEvent } from '../../store/event.ts'
import { getGoal, goalsToCheck, progressGoal } from '../../store/goal.ts'
import { listTasks } from '../../store/task.ts'
import { contractCommands, readContract } from '../checks/verify-contract.ts'
import type { Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import { installsOf, partsOfGoal, type Part } from './goal-verify.ts'
import { rerunChecks, type RecheckResult } from './reverify.ts'

/** Searching for the task costs one run of the check for each halving. */
const mostProbes = 6

export const targetCheckOf = (commit: string, base: string): TargetCheck => ({
  ...{ state: 'pending', commit, base },
  ...{ command: null, taskId: null, detail: '' },
})

interface Checked {
  context: Context
  goal: Goal
  target: TargetCheck
  parts: Part[]
}

/** The checks of the tasks, then those of the configuration and of the contract for everything that the goal changed. */
const commandsOf = async ({ context, target, parts }: Checked): Promise<string[]> => {
  const { git, files } = context.ports
  const paths = (await git.changesBetween(context.shadow, target.base, target.commit)).map(({ path }) => path)
  const contract = context.contract === undefined ? readContract(files, context.repository.root) : context.contract()
  const roles = [...new Set(parts.map(({ task }) => task.role))]
  const all = [
    ...parts.flatMap(({ checks }) => checks.map(({ command }) => command)),
    ...(context.config().verify.commands ?? []),
    ...(contract === undefined ? [] : roles.flatMap((role) => contractCommands(contract, role, paths))),
  ]
  return [...new Set(all)]
}

const runOn = ({ context, goal, target, parts }: Checked, commit: string, commands: string[]): Promise<RecheckResult> =>
  rerunChecks({
    ...{ context, id: goal.id, commit, base: target.base, commands },
    source: (command) =>
      parts.flatMap(({ checks }) => checks).find((check) => check.command === command)?.source ?? 'config',
    installs: installsOf(parts),
    taskIds: parts.map(({ task }) => task.id),
  })

/** The landed work of the goal on its target, oldest first. */
const landedParts = async ({ context, target, parts }: Checked): Promise<Part[]> => {
  const range = { head: target.base, tip: target.commit }
  const line = (await context.ports.git.commitsBetween(context.repository, range, 1_000)).map(({ commit }) => commit)
  const at = ({ entry }: Part): number => line.indexOf(entry.landedCommit ?? '')
  return parts.filter((part) => at(part) >= 0).toSorted((one, other) => at(other) - at(one))
}

/** The first part with whose work the check fails; undefined = it cannot be found. The last one is known to fail. */
const blame = async (checked: Checked, command: string): Promise<Part | undefined> => {
  const parts = await landedParts(checked)
  let [low, high] = [0, parts.length - 1]
  for (let probes = 0; low < high && probes < mostProbes; probes += 1) {
    const middle = Math.floor((low + high) / 2)
    const result = await runOn(checked, parts[middle]?.entry.landedCommit ?? '', [command])
    if (result.kind !== 'ran') return undefined
    if (result.report.failed === undefined) low = middle + 1
    else high = middle
  }
  return low === high ? parts[low] : undefined
}

export const undoCommand = (taskId: string): string => `unstuck revert ${taskId}`

const store = async ({ context, goal, target }: Checked, change: Partial<TargetCheck>): Promise<void> => {
  const done: TargetCheck = { ...target, ...change }
  await context.db.transaction(async (tx) => {
    const now = (await getGoal(tx, goal.id))?.landing.target
    // A revert meanwhile asked for another check.
    if (now?.commit !== target.commit || now.state !== 'pending') return
    await progressGoal(tx, goal.id, { landing: { target: done } })
    const { taskId } = done
    await appendEvent(tx, {
      type: 'goal.target_checked',
      goalId: goal.id,
      ...(taskId === null ? {} : { taskId }),
      payload: { ...done, branch: goal.targetBranch, ...(taskId === null ? {} : { undo: undoCommand(taskId) }) },
    })
  })
}

const storeFailure = async (checked: Checked, failed: ObservedCheck): Promise<void> => {
  const { context, goal } = checked
  const { evidence, facts } = diagnose({ kind: 'check', check: failed })
  const machine = 'machine' in facts ? facts.machine : undefined
  if (machine !== undefined)
    return store(checked, { state: 'unknown', detail: `"${failed.command}" could not run here: ${machine}` })
  const part = await blame(checked, failed.command)
  if (context.stopping.aborted) return
  const since = part === undefined ? '' : ` since ${taskNameInside(part.task)}`
  await store(checked, {
    ...{ state: 'failed', command: failed.command, taskId: part?.task.id ?? null },
    detail: `after the landing "${failed.command}" fails on ${goal.targetBranch}${since}: ${evidence}`,
  })
}

const checkTarget = async (context: Context, goal: Goal, target: TargetCheck): Promise<void> => {
  const all = await partsOfGoal(context, await listTasks(context.db, goal.id), goal)
  // The checks of reverted work test what is not there any more.
  const parts = all.filter(({ entry }) => entry.revertedCommit === null)
  const checked = { context, goal, target, parts }
  const commands = await commandsOf(checked)
  if (commands.length === 0)
    return store(checked, {
      state: 'unknown',
      detail: `${goal.targetBranch} was not checked: this repository names no check`,
    })
  const result = await runOn(checked, target.commit, commands)
  if (result.kind === 'stopped') return
  if (result.kind === 'not ready')
    return store(checked, { state: 'unknown', detail: diagnose(result.evidence).evidence })
  const { failed } = result.report
  await (failed === undefined ? store(checked, { state: 'passed' }) : storeFailure(checked, failed))
}

/** Checks the target of every goal that has just landed, once. A check that cannot run is reported and not repeated. */
export const checkTargets = async (context: Context): Promise<void> => {
  for (const goal of await goalsToCheck(context.db)) {
    const { target } = goal.landing
    if (context.stopping.aborted || target === null) return
    try {
      await checkTarget(context, goal, target)
    } catch (error) {
      if (context.stopping.aborted) return
      if (endsPass(context, error)) throw error
      context.log.error({ goal: goal.id, error: messageOf(error) }, 'the target of a landed goal could not be checked')
      await store({ context, goal, target, parts: [] }, { state: 'unknown', detail: messageOf(error) })
    }
    context.wake()
  }
}
