/** The longer sentences of the story: how the payload of one type of event becomes words. Pure. */
import { outcomeText } from '../../domain/proof.ts'
import { preexistingFailures, type Verdict } from '../../domain/run.ts'
import { retryNumber } from '../../domain/task.ts'
import { failuresText } from '../../domain/preexisting-failures.ts'
import { actionText } from '../../domain/action-text.ts'
import type { Recovery } from '../../store/recovery.ts'
import { counted, payloadText, type Payload } from './event-text.ts'

/** The results of the checks. A check that already failed before the work is always named, so that it is not read as passed. */
export const verdictText = ({ verdict }: Payload): string => {
  const { outcome = 'not verified', checks = [], proof } = (verdict ?? {}) as Partial<Verdict>
  const red = preexistingFailures(checks)
  const said = outcomeText(outcome, proof)
  return red.length === 0 ? said : `${said}, still failing as before the work: ${failuresText(red)}`
}

type Action = Partial<Recovery['action']>

/** The stored name of the action, as in docs/recovery.md. */
export const actionName = ({ action }: Payload): string => ((action ?? {}) as Action).name ?? '?'

/** What a recovery does: `restarted the agent with a hint`. */
export const recoveryText = ({ action }: Payload): string => {
  const { type = '', name = 'acted', ...rest } = (action ?? {}) as Action
  if (type !== 'wait') return actionText({ type, name, ...rest })
  const { until, delayMs } = rest
  if (typeof until === 'string') return `waits until ${until}`
  if (delayMs === 0) return 'starts the task again'
  return typeof delayMs === 'number' ? `waits ${Math.round(delayMs / 1000)} s` : 'waits'
}

/** How long an agent printed nothing, and what its processes used meanwhile. */
export const quietText = (payload: Payload): string =>
  `${payloadText(payload, 'quietSeconds')} s, ${payloadText(payload, 'processes')} ${payload.processes === 1 ? 'process' : 'processes'} at ${payloadText(payload, 'cpuPercent')} % CPU`

const withoutCheck = (why: string): string => `${why}, so the check was corrected`

/** Why a task went back to the queue, by the stored reason; another reason is a text already. */
const requeueReasons: Record<string, string> = {
  verification_command_missing_script_adjusted: withoutCheck('the script of a check does not exist'),
  verification_command_no_test_files_adjusted: withoutCheck('a check found no test'),
  verification_command_missing_make_target_adjusted: withoutCheck('the make target of a check does not exist'),
  verification_command_unsupported_format_adjusted: withoutCheck('a check needs a shell or never ends'),
  verification_command_sequence_adjusted: 'a check ran before its input existed, so the order was corrected',
  policy_allowed_paths_adjusted: 'the paths that it changed are allowed now',
  setup_or_bootstrap_retry: 'its set-up is tried again',
  needs_rework_in_place_retry: 'its work did not pass, and it starts again where it stopped',
  edited_by_person: 'a person changed it, and its wait is over',
  cooldown_retry: 'its wait is over',
  quota_wait_retry: 'the wait for the limit is over',
  conflict_requeue: 'its work does not fit onto commits that were merged meanwhile',
  began_again: 'the goal starts again',
  manual_requeue: 'a person requested a retry',
  awaiting_judge_missing_run_retry: 'none of its runs can be judged',
  awaiting_judge_timeout_retry: 'none of its runs can be judged',
  pr_review_needs_rework_missing_run_retry: 'the reviewed work did not pass and is reviewed once more',
  review_head_moved: 'the reviewed branch has a new commit',
  machine_fault_passed: 'what stopped its checks on this machine has passed; they run again on its work',
}

const unjudged = 'one of its runs has not been judged'
const restored = 'the judge gave no verdict in time and is asked again'

/** Why a task waits for the judge (again), by the stored reason. */
const reviewReasons: Record<string, string> = {
  pr_review_failed_to_awaiting_judge: unjudged,
  pr_review_needs_rework_to_awaiting_judge: unjudged,
  pr_review_failed_run_restored: restored,
  pr_review_needs_rework_run_restored: restored,
  awaiting_judge_run_restored: restored,
}

/** Which start of how many it is, where a limit counts them. */
const startText = ({ count, limit }: Payload): string =>
  typeof count === 'number' && typeof limit === 'number' && limit > 0 ? ` (${count} of at most ${limit})` : ''

export const retriedText = (payload: Payload): string => {
  const number = retryNumber({ count: Number(payload['count']), limit: Number(payload['limit']) })
  return `the task is retried at ${payloadText(payload, 'retryAt')} (${number})`
}

export const requeuedText = (payload: Payload): string => {
  const [reason, hint] = [
    payloadText(payload, 'reason') || payloadText(payload, 'trigger'),
    payloadText(payload, 'hint'),
  ]
  const said = hint === '' ? '' : `; hint from ${payloadText(payload, 'by')}: ${hint}`
  if (reason === 'harness_switched')
    return `${payloadText(payload, 'before')} failed ("${payloadText(payload, 'evidence')}"); the task continues with ${payloadText(payload, 'harness')}${said}`
  const waits = reviewReasons[reason]
  if (waits !== undefined) return `the task waits for the judge: ${waits}${startText(payload)}`
  const words = requeueReasons[reason.replace(/_from_blocked$/, '')] ?? reason
  return `the task went back to the queue: ${words}${startText(payload)}${said}`
}

/** Why a task was cancelled, by the stored reason; another reason is a text already. */
const cancelReasons: Record<string, (payload: Payload) => string> = {
  dependency_cancelled: () => 'the task was cancelled because a task that it needs was cancelled',
  superseded_by_rework: (p) => `the task ended because task ${payloadText(p, 'child')} continues its work`,
  rework_child_already_exists: () => 'the task ended because another task continues its work already',
  rework_chain_max_depth_reached: () =>
    'the task was given up: it and the tasks that it continued did not pass, and no further one is made',
  policy_violation_rework_suppressed_exhausted: () => 'the task was given up: no rule allows the paths that it changed',
  conflict_autofix_needs_rework_suppressed: () =>
    'it did not solve the conflict; the task whose work conflicts starts over on the newer base',
}

export const cancelledText = (payload: Payload): string => {
  const [reason, by] = [payloadText(payload, 'reason'), payloadText(payload, 'by')]
  const known = cancelReasons[reason]
  return (
    known?.(payload) ?? `the task was cancelled${by === '' ? '' : ` by a ${by}`}${reason === '' ? '' : `: ${reason}`}`
  )
}

/** A failed check beside the base commit, by the details that `runtime/checks/baseline.ts` stores. */
export const baselineText = (payload: Payload): string => {
  const [command, failing] = [payloadText(payload, 'command'), payloadText(payload, 'failing')]
  const detail = payloadText(payload, 'detail')
    .replace(` (${failing})`, '')
    .replace(/ \([a-z_]+: (.*)\)$/s, (whole, said) => (said === failing ? '' : whole))
  const failed = `${command} failed${failing === '' ? '' : ` (${failing})`}`
  if (payload.blocks !== true) return `${failed}: ${detail}; this is listed and does not block the work`
  if (detail === 'it passes on the base commit') return `${command} fails since this work: ${failing}`
  if (detail === 'nor can it run on the base commit')
    return `${command} cannot run here, nor on the base commit: ${failing}`
  return `${failed}; ${detail}`
}

/** A duration in milliseconds, as `3 s`. */
export const secondsText = (payload: Payload, key: string): string => {
  const value = payload[key]
  return typeof value === 'number' ? `${Math.max(1, Math.round(value / 1000))} s` : '? s'
}

/** What a question to an agent CLI took. */
export const askedText = (payload: Payload): string => {
  const model = payloadText(payload, 'model')
  const cost = Number(payload['costUsd'] ?? 0)
  const parts = [
    ...(model === '' ? [] : [`model ${model}`]),
    counted(payload, 'attempts', 'launch').replace(/launchs$/, 'launches'),
    `${payloadText(payload, 'tokens')} tokens`,
    ...(cost > 0 ? [`$${cost.toFixed(2)}`] : []),
  ]
  return parts.join(', ')
}

export const answerText = (payload: Payload): string =>
  `a person answered: ${payloadText(payload, 'answer').replaceAll('_', ' ')}`

/** Results of the probes after a failed check; `points` says whether the work or the environment is at fault. */
export const probesText = ({ found }: Payload): string =>
  Array.isArray(found)
    ? (found as { probe: string; points: string; text: string }[])
        .map(
          ({ probe, points, text: said }) =>
            `${probe}: ${said}${points === 'neither' ? '' : ` (at fault: the ${points})`}`,
        )
        .join('; ')
    : ''

/** Unstuck knows how certain versions of a CLI behave; a run with another version may explain a surprise. */
export const launchText = (payload: Payload): string => {
  const version = payloadText(payload, 'version') || '(version unknown)'
  const measured =
    payload.exact === false ? `; not a measured version, treated like ${payloadText(payload, 'measured')}` : ''
  const how = payload.resumed === true ? 'resumed its session' : 'started'
  return `${payloadText(payload, 'driver')} ${version} ${how} (launch ${payloadText(payload, 'launch')}${measured})`
}

export const preparedSentence = (payload: Payload): string => {
  const missing = (payload.missing ?? []) as { path: string; reason: string }[]
  return [
    'the workspace was prepared',
    ...(payloadText(payload, 'submodules') === '' ? [] : [`submodules ${payloadText(payload, 'submodules')}`]),
    ...missing.map(({ path, reason }) => `submodule ${path} is missing: ${reason}`),
    ...(payloadText(payload, 'copied') === '' ? [] : [`copied ${payloadText(payload, 'copied')}`]),
    ...(payload.setup === true ? ['workspace.setup ran'] : []),
  ].join('; ')
}
