/**
 * A playbook: one declared way to recover. To add a playbook, write a record in a file of `playbooks/`, put it in the list of
 * that file, and test it. If nothing reports the failure yet, add a record to `diagnosis/direct-evidence.ts` as well.
 */
import type { Install } from '../domain/install.ts'
import type { Excluded, PreexistingFailure } from '../domain/run.ts'
import { failuresText } from '../domain/preexisting-failures.ts'
import type { Rung } from './diagnosis/labels.ts'
import { digestOf } from './signature.ts'
import type { AllowedPath, RunProposed } from './diagnosis/direct-evidence.ts'
import type { Diagnosis, DiagnosisLabel, DiagnosisOf, Feedback, ModeChange } from './types.ts'

export type Scope = 'launch' | 'run' | 'task' | 'goal'

/** The failures that feedback was given about. The text of the feedback is in the hint. */
export type FeedbackTarget = Pick<Feedback, 'command' | 'failing'>

/** The closed set of actions. `name` is what events print as `action_taken`. */
export type Action =
  | {
      type: 'relaunch'
      name: string
      addDir?: string
      skipGitCheck?: true
      chmod?: ModeChange
      /** In the syntax of the harness. */
      toolRules?: string[]
      /** Opens a new session, with a summary of the previous one. */
      fresh?: true
      /** A restart of an agent that made no progress. The hint and the session depend on its number. */
      restart?: { because: string; number: number; tree: string }
      /** The turn only has to name a command that can replace this check. */
      ask?: string
      /** Tests that failed before the work and still fail. The hint names them. */
      red?: PreexistingFailure[]
      /** The owner's playbook whose hint it is, so that it is another action than the built-in feedback about the same failures. */
      own?: string
      /** The failures of the work that the hint describes. */
      feedback?: FeedbackTarget
      resume: boolean
      hint: string
    }
  | ({ type: 'chmod'; name: 'CHMOD' } & ModeChange)
  /** `delayMs` and `until`: how long the abandoned account stays at its limit; absent = it is not at its limit. */
  | {
      type: 'switch_harness'
      name: 'SWITCH_HARNESS'
      harness: string
      delayMs?: number
      until?: string
      feedback?: FeedbackTarget
    }
  /** `rest`: the other elements of the chain, which still run. */
  | { type: 'drop_command'; name: 'DROP_COMMAND'; command: string; rest?: string }
  /** Another command runs instead, and the verdict says so. */
  | { type: 'replace_command'; name: 'REPLACE_COMMAND' | 'NARROW_COMMAND'; command: string; by: string }
  /** The same checks run in this order, with `build` added after its install. */
  | { type: 'reorder'; name: 'REORDER_COMMANDS'; command: string; order: string[]; build?: string; install?: Install }
  /** Runs a package manager's own install in the clone, then the check again. */
  | { type: 'install'; name: 'INSTALL_DEPENDENCIES'; command: string; install: Install }
  /**
   * Changed paths are left out of the work, and the work is checked again. `unproven`: they look generated, and the checks have
   * to make them again before that counts.
   */
  | { type: 'exclude_paths'; name: 'EXCLUDE_PATHS' | 'DISCARD_GENERATED'; excluded: Excluded[] }
  /** The task may change these paths as well. */
  | { type: 'allow_paths'; name: 'ALLOW_PATHS'; allowed: AllowedPath[] }
  /** A model decides about these paths in a read-only session: allow, discard or deny. */
  | { type: 'ask_paths'; name: 'ASK_ABOUT_PATHS'; paths: string[]; attempt: number }
  /**
   * The checks decide about what an agent left that did not end its turn. `held`: it reported a failure, which is believed, so what
   * passes waits for a person.
   */
  | { type: 'check_work'; name: 'CHECK_LEFT_WORK'; tree: string; held?: true }
  /** Runs a command that the agent proposed and that the owner or a person approved, then the checks. */
  | ({ type: 'run_proposed'; name: 'RUN_PROPOSED_COMMAND' } & RunProposed)
  /** A new task solves the conflict in a workspace of its own. */
  | {
      type: 'solve_conflict'
      name: 'AUTO_FIX_CONFLICT'
      onto: string
      conflicts: string[]
      failed?: string
      because: string
    }
  /** A new task corrects what a reviewer objects to. `key`: of the objection. `harness`: another one than that of the work. */
  | { type: 'answer_objection'; name: 'AUTO_FIX_OBJECTION'; because: string; key: string; harness?: string }
  /** The task is redone on a base that contains the commit which its work conflicted with. */
  | { type: 'run_again'; name: 'RUN_ON_NEWER_BASE'; onto: string; because: string }
  | {
      type: 'wait'
      /** `WAIT_FOR_QUOTA` parks the task as `blocked(quota_wait)` meanwhile. */
      name: 'WAIT_AND_REQUEUE' | 'WAIT_FOR_QUOTA'
      /** At least this long. */
      delayMs: number
      /** ISO time at which the provider's limit resets, as the provider states it, and the delay of the task after that. */
      until?: string
      jitterMs?: number
      count: number
      limit: number
      /** A check is waiting, so the wait has helped only when that check passes. */
      forChecks?: true
    }

/**
 * What carries out each action: the supervisor (launch), the executor under the lease (run), the cycle manager (task) or the
 * merge queue (goal).
 */
export const scopeOf = {
  relaunch: 'launch',
  chmod: 'run',
  install: 'run',
  reorder: 'run',
  drop_command: 'run',
  replace_command: 'run',
  exclude_paths: 'run',
  allow_paths: 'run',
  ask_paths: 'run',
  check_work: 'run',
  run_proposed: 'run',
  wait: 'task',
  switch_harness: 'task',
  solve_conflict: 'goal',
  answer_objection: 'goal',
  run_again: 'goal',
} as const satisfies Record<Action['type'], Scope>

/** Types of the actions of one scope. */
export type ActionIn<S extends Scope> = {
  [T in Action['type']]: (typeof scopeOf)[T] extends S ? T : never
}[Action['type']]

/** What must be observed before a recovery counts as a success. Until that is decided, the recovery is open. */
export type PostCondition =
  /** The relaunched CLI opens a session instead of refusing to start. */
  | { type: 'session_opens'; fresh?: true }
  /** The relaunched turn ends without a denial below this directory. */
  | { type: 'directory_usable'; directory: string }
  /** The directory can be read, written and entered. With `relaunch`, the relaunched turn also ends without a refusal below it. */
  | { type: 'directory_accessible'; directory: string; relaunch?: true }
  /** The relaunched turn ends without a refusal of what these rules allow. */
  | { type: 'tool_allowed'; toolRules: string[] }
  /** This check ran again and really checked something: it passed, or it fails because of what it checks. */
  | { type: 'check_runs'; command: string }
  /** This check passes, or it runs and fails in another way than before (`signature`); with `mustPass` only the former counts. */
  | { type: 'proposal_helps'; command: string; signature: string; mustPass?: true }
  /** At least one of the remaining checks ran, and all of them passed; or the work needs no check. */
  | { type: 'remaining_checks_pass' }
  /** The relaunched turn ends by itself, or the workspace differs from this tree afterwards. */
  | { type: 'agent_gets_on'; tree: string }
  /** All of these tests pass. */
  | { type: 'tests_pass'; red: PreexistingFailure[] }
  /** The command passes, or the set of its failures is a strict subset of the earlier one. */
  | ({ type: 'fewer_failures' } & FeedbackTarget)
  /** Every test that failed is still part of the work. */
  | { type: 'tests_kept' }
  /** Everything that the work weakened is restored, or the task names it. */
  | { type: 'checks_kept' }
  /** No conflict marker is left in these files. */
  | { type: 'markers_gone'; paths: string[] }
  /** The rules of the task allow every change of these paths. */
  | { type: 'paths_allowed'; paths: string[] }
  /** The relaunched turn leaves a change. */
  | { type: 'work_appears' }
  /** The next launch ends without the same class of failure. */
  | { type: 'provider_answers' }
  /** The next commit of the task is merged. */
  | { type: 'work_merges' }
  /** The base commit of the next run could be fetched from the git remote. */
  | { type: 'remote_answers' }
  /** The set-up of the next run's workspace passes. */
  | { type: 'workspace_ready' }

/** What happens when no untried playbook is left for the label. */
export type WhenExhausted = 'pause_goal' | 'escalate'

export interface PlaybookFor<L extends DiagnosisLabel> {
  id: string
  rung: Rung
  scope: Scope
  title: string
  /** Labels of the diagnoses that the playbook handles. */
  labels: readonly L[]
  /** The evidence that the playbook needs, as prose for docs/recovery.md. */
  neededEvidence: string
  /** Facts with which docs/recovery.md shows the action; absent = the action needs no facts. */
  example?: DiagnosisOf<L>['facts']
  /** The action for this diagnosis, or undefined when the needed evidence is missing. */
  plan(diagnosis: DiagnosisOf<L>, context: PlanContext): Action | undefined
  postCondition(action: Action): PostCondition
  /** The most attempts per task and label, until a person resets the count. */
  budget: number
  /** One of the owner: it matches what was printed, so its budget counts the attempts for all labels together. */
  anyLabel?: true
  /** An attempt of any such playbook that helped refills the budget of all of them. */
  refilled?: true
  /** Whether an attempt counts towards the task's total (`totalBudget`). Waits do not. */
  counted: boolean
}

/** A playbook in the ladder. It plans nothing for a diagnosis with another label. */
export interface Playbook extends Omit<PlaybookFor<DiagnosisLabel>, 'plan'> {
  plan(diagnosis: Diagnosis, context: PlanContext): Action | undefined
}

const isOneOf = <L extends DiagnosisLabel>(
  diagnosis: Diagnosis,
  labels: readonly L[],
): diagnosis is Diagnosis & DiagnosisOf<L> => labels.some((label) => label === diagnosis.label)

/** `plan` gets the facts of the labels in `answers`. Reading a fact that these labels cannot have does not compile. */
export const playbook = <L extends DiagnosisLabel>(record: PlaybookFor<L>): Playbook => ({
  ...record,
  plan: (diagnosis, context) => (isOneOf(diagnosis, record.labels) ? record.plan(diagnosis, context) : undefined),
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
  /** The first and the longest wait where the provider does not state when its limit resets. */
  quotaBaseSeconds: number
  quotaMaxSeconds: number
}

/** The fields of a stored recovery that the choice of the next one depends on. */
export interface PastRecovery {
  runId: string
  playbook: string
  label: string
  actionKey: string
  status: 'acting' | 'success' | 'failed'
  counted: boolean
}

const chmodKey = ({ directory, newMode }: ModeChange): string => `chmod ${newMode} ${directory}`
/** One install serves all checks that lack the same packages. */
export const installKeyOf = ({ manager, folder, files }: Install): string =>
  `install:${manager}:${files === undefined ? folder : digestOf(files.join('\n'))}`

/** Of an install of these inputs: with others it may end in another way. */
export const installActionKeyOf = (install: Install): string =>
  [installKeyOf(install), ...(install.inputs === undefined ? [] : [install.inputs])].join(':')

const feedbackKeyOf = ({ command, failing }: FeedbackTarget): string =>
  `feedback ${digestOf([command, ...failing.toSorted()].join('\n'))}`

/** Equal for actions that change the same thing, so that a correction without effect is not repeated. Stored: never reworded. */
export const actionKeyOf = (action: Action): string => {
  switch (action.type) {
    case 'relaunch':
      return [
        `relaunch:${action.skipGitCheck === true ? 'skip-git-check' : ''}:${action.addDir ?? ''}`,
        ...(action.chmod === undefined ? [] : [chmodKey(action.chmod)]),
        ...(action.toolRules ?? []).map((rule) => `allow ${rule}`),
        ...(action.fresh === true ? ['fresh'] : []),
        ...(action.ask === undefined ? [] : [`ask for ${action.ask}`]),
        ...(action.red === undefined ? [] : [`tell ${failuresText(action.red)}`]),
        ...(action.feedback === undefined ? [] : [feedbackKeyOf(action.feedback)]),
        ...(action.own === undefined ? [] : [`own ${action.own}`]),
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
      return installActionKeyOf(action.install)
    case 'exclude_paths':
      return `exclude:${digestOf(action.excluded.map(({ path }) => path).join('\n'))}`
    case 'allow_paths':
      return `allow:${digestOf(action.allowed.map(({ path }) => path).join('\n'))}`
    case 'ask_paths':
      return `ask about:${digestOf(action.paths.join('\n'))}`
    case 'check_work':
      return `check:${action.tree}`
    case 'switch_harness':
      return `harness:${action.harness}`
    case 'run_proposed':
      return `proposed:${action.proposal}:${action.step}`
    case 'solve_conflict':
      return `solve conflict on ${action.onto}`
    case 'answer_objection':
      return `answer objection ${action.key}${action.harness === undefined ? '' : ` by ${action.harness}`}`
    case 'run_again':
      return `run again on ${action.onto}`
    case 'wait':
      return `wait:${action.count}`
  }
}
