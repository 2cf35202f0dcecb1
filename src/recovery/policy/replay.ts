/** Decides stored cases again with other rules: what a change of the policy recovery would have done. Pure. */
import { autoAllow, type PathTask } from './auto-allow.ts'
import { shownPath } from './path-safety.ts'
import type { PolicyRecovery } from './recovery-policy.ts'

/** A path outside of a task's allowed paths that a run changed. */
export interface ReplayCase {
  taskId: string
  runId: string
  path: string
  /** The kind of the violation. Only `outside` can be allowed by a rule. */
  kind: string
  task: PathTask
}

export interface Replayed {
  allowed: boolean
  rule: string
  because: string
}

export interface ChangedCase extends Pick<ReplayCase, 'taskId' | 'runId' | 'path'> {
  before: Replayed
  after: Replayed
}

export interface Replay {
  cases: number
  changed: ChangedCase[]
}

const decide = ({ path, kind, task }: ReplayCase, policy: PolicyRecovery): Replayed =>
  // Which areas other tasks held at that time is not stored.
  kind === 'outside'
    ? autoAllow(path, task, policy, [])
    : { allowed: false, rule: kind, because: `${shownPath(path)} is refused in every mode (${kind}).` }

/** A path that a task changed in several runs counts once. */
export const replay = (cases: readonly ReplayCase[], before: PolicyRecovery, after: PolicyRecovery): Replay => {
  const each = [...new Map(cases.map((entry) => [`${entry.taskId}\0${entry.path}`, entry])).values()]
  const changed = each.flatMap((entry): ChangedCase[] => {
    const [one, other] = [decide(entry, before), decide(entry, after)]
    const { taskId, runId, path } = entry
    return one.allowed === other.allowed && one.rule === other.rule
      ? []
      : [{ taskId, runId, path, before: one, after: other }]
  })
  return { cases: each.length, changed }
}
