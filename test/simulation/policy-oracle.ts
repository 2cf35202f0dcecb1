/**
 * What may land of the paths outside a task. Each grant needs a cause that the world knows: the rule that names the file, or an answer
 * that a model really gave to its task, or to one of the same words. What is left out of the work is in a snapshot.
 */
import { areasOf } from '../../src/domain/area.ts'
import { holdsAreas, type Task } from '../../src/domain/task.ts'
import { holderOf } from '../../src/recovery/policy/path-safety.ts'
import type { StoredEvent } from '../../src/store/event.ts'
import { buildFile, reportFile, secretFile, type ModelDecision } from './agents.ts'
import type { Look } from './mirror.ts'
import type { SimLaunch } from './processes.ts'
import type { World } from './world.ts'

export interface PolicyOracle {
  observe(look: Look): void
  questionStarts(launch: SimLaunch): void
  /** What a task may change in addition to its own paths, as texts of rules. */
  grantedTo(taskId: string, runId: string): string[]
  /** Paths that were left out of the work of a task, or of one that it continues. */
  leftOutOf(taskId: string): string[]
}

interface Granted {
  path: string
  taskId: string | null
  runId: string | null
  scope: string
}

/** What a model answered, and what its question said about the task. */
interface Answer {
  taskId: string
  words: string
  decisions: readonly ModelDecision[]
}

/** No answer and no rule allows these. */
const isForbidden = (path: string): boolean =>
  path.split('/').some((part) => part === secretFile || part === '..' || part === '.git') || /[*?{]/.test(path)

export const createPolicyOracle = (world: World): PolicyOracle => {
  const answers: Answer[] = []
  const grants: Granted[] = []
  const leftOut: { taskId: string | null; path: string }[] = []

  /** A task, and those that it continues. */
  const lineOf = (taskId: string): string[] => {
    const parent = world.tables.task.get(taskId)?.rework?.parent
    return parent === undefined ? [taskId] : [taskId, ...lineOf(parent)]
  }

  const wordsOf = (runId: string): string => {
    const run = world.tables.run.get(runId)
    const task = world.tables.task.get(run?.taskId ?? '')
    return JSON.stringify([run?.harness, task?.title, task?.instructions, task?.role, task?.commands])
  }

  /**
   * Answers to the runs of this task: the same question is answered from memory when a later run asks it. Somebody may give the same task
   * once more, in another goal; the question about it is the same then.
   */
  const decisionsFor = (taskId: string, runId: string): ModelDecision[] => {
    const line = lineOf(taskId)
    const words = wordsOf(runId)
    return answers.flatMap((one) => (line.includes(one.taskId) || one.words === words ? one.decisions : []))
  }

  const hasCause = ({ path, by }: { path: string; by: string }, { taskId, runId }: StoredEvent): boolean => {
    const task = world.tables.task.get(taskId ?? '')
    if (by === 'rule') return path === buildFile && (task?.commands.some((command) => /\bnpm\b/.test(command)) ?? false)
    const decisions = by === 'model' ? decisionsFor(taskId ?? '', runId ?? '') : []
    return decisions.some((one) => one.path === path && one.action === 'allow')
  }

  /** Another task that is at work on the path, or waits for its merge there. */
  const otherHolder = (path: string, taskId: string | null): Task | undefined =>
    [...world.tables.task.values()].find(
      (other) =>
        other.id !== taskId &&
        holdsAreas(other.status) &&
        other.status === 'running' &&
        holderOf(
          path,
          areasOf(other).map((area) => ({ area, by: other.id })),
        ) !== undefined,
    )

  const checkGrant = (event: StoredEvent): void => {
    const { path, by, scope } = event.payload as unknown as { path: string; by: string; scope: string }
    const { taskId, runId } = event
    grants.push({ path, scope, taskId, runId })
    if (isForbidden(path)) world.violated('nothing outside lands', `${path} is granted to ${taskId} (${by})`)
    if (!hasCause({ path, by }, event))
      world.violated('nothing outside lands', `${path} is granted to ${taskId} in ${runId} (${by}) without a cause`)
    if (by === 'model' && scope !== 'run')
      world.violated('nothing outside lands', `a model grants ${path} to more than its run: ${scope}`)
    const holder = world.tables.task.get(taskId ?? '')?.targetArea === null ? otherHolder(path, taskId) : undefined
    if (holder !== undefined)
      world.violated('one owner', `${path} is granted to ${taskId} while ${holder.id} works on it`)
  }

  const isKept = (runId: string, path: string): boolean =>
    [...world.git.snapshots.values()].some(
      (snapshot) => snapshot.runId === runId && world.git.treeOf(snapshot.commit).has(path),
    )

  /** Files that stay in the workspace are lost with it only after a snapshot, which is looked at when it is discarded. */
  const checkDiscard = ({ payload, runId, taskId }: StoredEvent): void => {
    if (payload['by'] !== 'model' || world.snapshotsFail()) return
    const base = world.git.treeOf(world.tables.run.get(runId ?? '')?.baseCommit ?? '')
    for (const path of payload['discardedPaths'] as string[])
      if (!base.has(path) && !isKept(runId ?? '', path))
        world.violated('nothing lost', `${path} of ${taskId} is discarded and is in no snapshot of ${runId}`)
  }

  const checkLearned = ({ payload, taskId }: StoredEvent): void => {
    const path = String(payload['path'])
    if (!`${reportFile}/`.startsWith(`${path}/`))
      world.violated('a recovery counts if it helped', `${path} of ${taskId} is learned, but no check makes it`)
  }

  return {
    observe: ({ events }) => {
      for (const event of events) {
        if (event.type === 'policy.granted') checkGrant(event)
        if (event.type === 'task.policy_recovery_applied') {
          leftOut.push(...(event.payload['discardedPaths'] as string[]).map((path) => ({ taskId: event.taskId, path })))
          checkDiscard(event)
        }
        if (event.type === 'policy.learned') checkLearned(event)
      }
    },
    leftOutOf: (taskId) => {
      const line = new Set(lineOf(taskId))
      return leftOut.flatMap(({ taskId: of, path }) => (line.has(of ?? '') ? [path] : []))
    },
    questionStarts: ({ spec, program }) => {
      const taskId = world.tables.run.get(spec.marker)?.taskId ?? ''
      answers.push({ taskId, words: wordsOf(spec.marker), decisions: program?.script.decisions ?? [] })
    },
    grantedTo: (taskId, runId) => {
      const line = new Set(lineOf(taskId))
      return grants.flatMap((grant) =>
        (grant.scope === 'run' ? grant.runId === runId : line.has(grant.taskId ?? '')) ? [grant.path] : [],
      )
    },
  }
}
