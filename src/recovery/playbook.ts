/**
 * A playbook: one declared way to recover. A new one is a record in a file of `playbooks/`, its place in the list of that file,
 * and its test; where nothing of the kind is observed yet, a record in `diagnosis/kinds.ts` as well. The scope says what
 * carries the action out: the supervisor (launch), the executor under the lease (run), the cycle manager (task).
 */
import type { Install, StillRed } from '../domain/run.ts'
import { redText } from '../domain/still-red.ts'
import type { Rung } from './diagnosis/labels.ts'
import { digestOf } from './signature.ts'
import type { Diagnosis, DiagnosisLabel, DiagnosisOf, Feedback, ModeChange } from './types.ts'

export type Scope = 'launch' | 'run' | 'task' | 'goal'

/** Which failures were told; the words are in the hint. */
export type Told = Pick<Feedback, 'command' | 'failing'>

/** The closed set of actions. `name` is what events print as `action_taken`. */
export type Action =
  | {
      type: 'relaunch'
      name: string
      addDir?: string
      skipGitCheck?: true
      chmod?: ModeChange
      /** In the words of the harness. */
      toolRules?: string[]
      /** A new session that is told what the one before it did. */
      fresh?: true
      /** A restart of an agent that did not get on: the hint and the session differ with its number. */
      restart?: { because: string; number: number; tree: string }
      /** The turn is only asked for a command that can stand for this check. */
      ask?: string
      /** What the turn is told of: it failed before the work and still does. */
      red?: StillRed[]
      /** What the agent is told of its work. */
      feedback?: Told
      resume: boolean
      hint: string
    }
  | ({ type: 'chmod'; name: 'CHMOD' } & ModeChange)
  /** `delayMs` and `until` say how long the account that is left is at its limit; absent = it is not. */
  | {
      type: 'switch_harness'
      name: 'SWITCH_HARNESS'
      harness: string
      delayMs?: number
      until?: string
      feedback?: Told
    }
  /** `rest`: the other elements of its chain, which still run. */
  | { type: 'drop_command'; name: 'DROP_COMMAND'; command: string; rest?: string }
  /** Another command is looked at in its place, and the verdict says so. */
  | { type: 'replace_command'; name: 'REPLACE_COMMAND' | 'NARROW_COMMAND'; command: string; by: string }
  /** The same checks run in this order. */
  | { type: 'reorder'; name: 'REORDER_COMMANDS'; command: string; order: string[] }
  /** Runs a package manager's own install in the clone, then the check again. */
  | { type: 'install'; name: 'INSTALL_DEPENDENCIES'; command: string; install: Install }
  /** The task is done once more, on a base that has what its commit did not fit onto. */
  | { type: 'run_again'; name: 'RUN_ON_NEWER_BASE'; onto: string; because: string }
  | {
      type: 'wait'
      /** `WAIT_FOR_QUOTA` parks the task as `blocked(quota_wait)` meanwhile. */
      name: 'WAIT_AND_REQUEUE' | 'WAIT_FOR_QUOTA'
      /** At least this long. */
      delayMs: number
      /** ISO time at which the provider says that it answers again, and how long after that the task begins. */
      until?: string
      jitterMs?: number
      count: number
      limit: number
      /** What waits is a check: only when it passes has the wait helped. */
      forChecks?: true
    }

/** Who carries each action out: the supervisor (launch), the executor under the lease (run), the cycle manager (task), the merge queue (goal). */
export const scopeOf = {
  relaunch: 'launch',
  chmod: 'run',
  install: 'run',
  reorder: 'run',
  drop_command: 'run',
  replace_command: 'run',
  wait: 'task',
  switch_harness: 'task',
  run_again: 'goal',
} as const satisfies Record<Action['type'], Scope>

/** Types of the actions of one scope. */
export type ActionIn<S extends Scope> = {
  [T in Action['type']]: (typeof scopeOf)[T] extends S ? T : never
}[Action['type']]

/** What must be observed before the recovery counts. Until then it is neither a success nor a failure. */
export type PostCondition =
  /** The relaunched CLI opens a session instead of refusing to start. */
  | { type: 'session_opens'; fresh?: true }
  /** The relaunched turn ends without a denial below this directory. */
  | { type: 'directory_usable'; directory: string }
  /** It can be read, written and entered; with `relaunch` the relaunched turn ends without a refusal below it as well. */
  | { type: 'directory_accessible'; directory: string; relaunch?: true }
  /** The relaunched turn ends without a refusal of what these rules let through. */
  | { type: 'tool_allowed'; toolRules: string[] }
  /** This check ran again and did run something: it passed, or it fails now by what it checks. */
  | { type: 'check_runs'; command: string }
  /** At least one of the remaining checks ran, and all of them passed; or the work needs none. */
  | { type: 'remaining_checks_pass' }
  /** The relaunched turn ends by itself, or leaves other files than this tree. */
  | { type: 'agent_gets_on'; tree: string }
  /** None of these fails any more. */
  | { type: 'tests_pass'; red: StillRed[] }
  /** The command passes, or only some of what failed before fails. */
  | ({ type: 'fewer_failures' } & Told)
  /** No test that failed is gone from the work. */
  | { type: 'tests_kept' }
  /** What the work weakened is as before, or the task names it. */
  | { type: 'checks_kept' }
  /** None of these paths is changed against the rules of the task. */
  | { type: 'paths_allowed'; paths: string[] }
  /** The relaunched turn leaves a change. */
  | { type: 'work_appears' }
  /** The next launch ends without the same class of failure. */
  | { type: 'provider_answers' }
  /** The next commit of the task is merged. */
  | { type: 'work_merges' }
  /** The base commit of the next run could be brought from the git remote. */
  | { type: 'remote_answers' }
  /** The set-up of the next run's workspace passes. */
  | { type: 'workspace_ready' }

/** What applies when the family has nothing untried left. */
export type Then = 'pause_goal' | 'escalate'

export interface PlaybookFor<L extends DiagnosisLabel> {
  id: string
  rung: Rung
  scope: Scope
  title: string
  /** Labels of the diagnoses it answers. */
  answers: readonly L[]
  /** Evidence it needs, in words, for docs/recovery.md. */
  needs: string
  /** Facts with which docs/recovery.md shows the action; absent = it needs none. */
  example?: DiagnosisOf<L>['facts']
  /** The action for this diagnosis, or undefined when the needed evidence is missing. */
  plan(diagnosis: DiagnosisOf<L>, context: PlanContext): Action | undefined
  postCondition(action: Action): PostCondition
  /** Most attempts per task and label (within one count). */
  budget: number
  /** Attempts before the last one of these playbooks that helped do not count, whatever failed then. */
  refilled?: true
  /** Whether an attempt is one of the task's total of 12; waits are not. */
  counted: boolean
}

/** As the ladder holds it: it plans nothing for a diagnosis that it does not answer. */
export interface Playbook extends Omit<PlaybookFor<DiagnosisLabel>, 'plan'> {
  plan(diagnosis: Diagnosis, context: PlanContext): Action | undefined
}

const isOneOf = <L extends DiagnosisLabel>(
  diagnosis: Diagnosis,
  labels: readonly L[],
): diagnosis is Diagnosis & DiagnosisOf<L> => labels.some((label) => label === diagnosis.label)

/** `plan` gets the facts of the labels in `answers`: to read one that they cannot have does not compile. */
export const playbook = <L extends DiagnosisLabel>(record: PlaybookFor<L>): Playbook => ({
  ...record,
  plan: (diagnosis, context) => (isOneOf(diagnosis, record.answers) ? record.plan(diagnosis, context) : undefined),
})

export interface PlanContext {
  /** Attempts of this playbook on this task and label so far. */
  attempts: number
  taskId: string
  retry: RetryPolicy
}

export interface RetryPolicy {
  transientBaseSeconds: number
  transientMaxSeconds: number
  transientLimit: number
  /** Where the provider does not say when its limit ends: the first wait and the longest. */
  quotaBaseSeconds: number
  quotaMaxSeconds: number
}

/** A recovery as the store has it, as far as the decision needs it. */
export interface PastRecovery {
  runId: string
  playbook: string
  label: string
  actionKey: string
  status: 'acting' | 'success' | 'failed'
  counted: boolean
}

const chmodKey = ({ directory, newMode }: ModeChange): string => `chmod ${newMode} ${directory}`
/** One install serves every check that misses what it brings. */
export const installKeyOf = ({ manager, folder }: Install): string => `install:${manager}:${folder}`

const feedbackKeyOf = ({ command, failing }: Told): string =>
  `feedback ${digestOf([command, ...failing.toSorted()].join('\n'))}`

/** Equal for actions that would change the same thing: a correction without effect is not taken twice. */
export const actionKeyOf = (action: Action): string => {
  switch (action.type) {
    case 'relaunch':
      return [
        `relaunch:${action.skipGitCheck === true ? 'skip-git-check' : ''}:${action.addDir ?? ''}`,
        ...(action.chmod === undefined ? [] : [chmodKey(action.chmod)]),
        ...(action.toolRules ?? []).map((rule) => `allow ${rule}`),
        ...(action.fresh === true ? ['fresh'] : []),
        ...(action.ask === undefined ? [] : [`ask for ${action.ask}`]),
        ...(action.red === undefined ? [] : [`tell ${redText(action.red)}`]),
        ...(action.feedback === undefined ? [] : [feedbackKeyOf(action.feedback)]),
        ...(action.restart === undefined ? [] : [`restart ${action.restart.number} for ${action.restart.because}`]),
      ].join(':')
    case 'chmod':
      return chmodKey(action)
    case 'drop_command':
      return `drop:${action.command}`
    case 'replace_command':
      return `replace:${action.command}:${action.by}`
    case 'reorder':
      return `reorder:${action.order.join('\n')}`
    case 'install':
      return installKeyOf(action.install)
    case 'switch_harness':
      return `harness:${action.harness}`
    case 'run_again':
      return `run again on ${action.onto}`
    case 'wait':
      return `wait:${action.count}`
  }
}
