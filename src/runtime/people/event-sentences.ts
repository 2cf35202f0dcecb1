/** What each type of event means, and each event as one sentence. Times in a sentence are ISO; each face shows them in the reader's time zone. Pure. */
import type { StoredEvent } from '../../store/event.ts'
import { editSentence } from './edit-sentence.ts'
import { counted, followedBy, payloadText, payloadTitle, withoutLabel, type EventTypes } from './event-text.ts'
import { goalEvents } from './goal-events.ts'
import { judgeEvents } from './judge-events.ts'
import { ownerEvents } from './owner-events.ts'
import { notificationEvents } from './notification-events.ts'
import { loopEvents } from './loop-events.ts'
import { proposalEvents } from './proposal-events.ts'
import { conflictEvents } from './conflict-events.ts'
import { conversationEvents } from './conversation-events.ts'
import { queueEvents } from './queue-events.ts'
import { reworkEvents } from './rework-events.ts'
import { scheduleEvents } from './schedule-events.ts'
import { workspaceEvents } from './workspace-events.ts'
import {
  baselineText,
  cancelledText,
  actionName,
  answerText,
  askedText,
  launchText,
  probesText,
  quietText,
  recoveryText,
  requeuedText,
  retriedText,
  secondsText,
  verdictText,
} from './story-text.ts'

/** What each type of event means, and its sentence. docs/events.md is generated from this; a test fails for a type that is missing. */
export const eventTypes: EventTypes = {
  ...goalEvents,
  ...loopEvents,
  ...reworkEvents,
  ...conflictEvents,
  ...judgeEvents,
  ...queueEvents,
  ...proposalEvents,
  ...ownerEvents,
  ...workspaceEvents,
  ...scheduleEvents,
  ...notificationEvents,
  'task.created': {
    meaning: 'a task was queued; with `waitsFor` it first waits for a link',
    sentence: (p) =>
      `task ${payloadText(p, 'number')} "${payloadTitle(p)}" was ${payloadText(p, 'waitsFor') === '' ? 'queued' : `created; it waits for a link: ${payloadText(p, 'waitsFor')}`}`,
  },
  'task.claimed': {
    meaning: 'an agent claimed the task',
    sentence: (p) => `claimed by agent ${payloadText(p, 'agent')}`,
  },
  'task.requeued': {
    meaning: 'the task went back to the queue',
    sentence: requeuedText,
  },
  'task.edited': { meaning: 'a person changed the task', sentence: editSentence },
  'task.taken_over': {
    meaning: 'a person works on the task in a folder, instead of an agent',
    sentence: (p) => `taken over by ${payloadText(p, 'by')} in ${payloadText(p, 'folder')}`,
  },
  'task.given_back': {
    meaning: 'a person finished their work on the task; its next run collects and checks it',
    sentence: (p) =>
      `given back by ${payloadText(p, 'by')}; the work in ${payloadText(p, 'folder')} is collected and checked`,
  },
  'task.approved': {
    meaning: 'a person approved finished work that would not have landed by itself; it is merged as it is',
    sentence: () => 'a person approved the work as it is; it waits for the merge queue',
  },
  'task.awaiting_judge': {
    meaning: 'a run succeeded and waits for its judgement, or a person had its reviewer asked again',
    sentence: (p) =>
      p['trigger'] === 'asked_again'
        ? 'the work waits for its reviewer again'
        : `checks: ${verdictText(p)}; the work waits for the judge and the merge queue`,
  },
  'task.done': {
    meaning: 'the work of the task is on its target',
    sentence: (p) =>
      `the task is done${payloadText(p, 'commit') === '' ? '' : ` (commit ${payloadText(p, 'commit').slice(0, 12)})`}`,
  },
  'task.failed': {
    meaning: 'a run failed and a retry is scheduled',
    sentence: retriedText,
    technical: (p) => payloadText(p, 'failureCode'),
  },
  'task.quota_wait': {
    meaning: 'the account reached a limit; the task waits until the limit resets',
    sentence: (p) =>
      `the account reached its limit ("${payloadText(p, 'evidence')}"); the task continues at ${payloadText(p, 'retryAt')}`,
  },
  'task.escalated': {
    meaning: 'the task waits for a person',
    sentence: (p) => `the task waits for a person: ${payloadText(p, 'reason') || payloadText(p, 'evidence')}`,
    technical: (p) => payloadText(p, 'label'),
  },
  'task.recovery_escalated': {
    meaning: 'no recovery is left for the failure of a task, or it waits for a changed path to become allowed',
    sentence: (p) =>
      p.reason === 'policy_violation_rework_suppressed_no_safe_path'
        ? `no rule allows these paths yet, so the task waits: ${payloadText(p, 'evidence')}`
        : `no recovery is left for: ${payloadText(p, 'evidence')}`,
    technical: (p) => payloadText(p, 'label'),
  },
  'task.cancelled': {
    meaning: 'the task was cancelled',
    sentence: cancelledText,
  },
  'run.started': {
    meaning: 'an attempt started',
    sentence: (p) =>
      `attempt ${payloadText(p, 'number')} started with ${payloadText(p, 'harness')}${payloadText(p, 'insteadOf') === '' ? '' : ` (the account of ${payloadText(p, 'insteadOf')} is at its limit)`}`,
  },
  'run.phase': { meaning: 'an attempt entered a phase', sentence: (p) => `phase ${payloadText(p, 'to')}` },
  'run.launched': {
    meaning: 'an agent runs: its CLI, the version, and the version with which its behaviour was measured',
    sentence: launchText,
  },
  'run.reattached': {
    meaning: 'a restarted engine re-attached to a run',
    sentence: () => 'a restarted engine re-attached to the run',
    technical: (p) => `phase ${payloadText(p, 'phase')}`,
  },
  'run.succeeded': {
    meaning: 'an attempt succeeded; its verdict holds the results of its checks',
    sentence: () => 'the attempt succeeded',
  },
  'run.failed': {
    meaning: 'an attempt failed',
    sentence: (p) => `the attempt failed: ${withoutLabel(payloadText(p, 'message'))}`,
  },
  'run.cancelled': {
    meaning: 'an attempt was stopped without a verdict',
    sentence: (p) => `the attempt was stopped: ${payloadText(p, 'message')}`,
  },
  ...conversationEvents,
  'run.quiet': {
    meaning: 'an agent prints nothing and uses no processor time for a while; nothing is done yet',
    sentence: (p) => `no output from the agent for ${quietText(p)}`,
  },
  'run.stalled': {
    meaning: 'an agent is stuck by two signals, no output and no processor time, and is stopped',
    sentence: (p) => `the agent was stuck and was stopped: no output for ${quietText(p)}`,
    technical: (p) => payloadText(p, 'stall'),
  },
  'run.work_brought_in': {
    meaning: 'work that a turn left on a branch, in a stash, a worktree or a lost commit was laid into the workspace',
    sentence: (p) => `the agent left its work on ${payloadText(p, 'from')}; it was brought into the workspace`,
  },
  'ask.answered': {
    meaning: 'an agent CLI answered a read-only question about the work, now or for an equal question before',
    sentence: (p) =>
      `${payloadText(p, 'harness')} was asked about ${payloadText(p, 'purpose')} and answered${p.cached === true ? ' (from an earlier question)' : ` after ${secondsText(p, 'ms')}`}`,
    technical: (p) => `${askedText(p)}: ${payloadText(p, 'answer')}`,
  },
  'ask.failed': {
    meaning: 'a question to an agent CLI has no answer that counts; what asked it continues without one',
    sentence: (p) =>
      `${payloadText(p, 'harness')} gave no usable answer about ${payloadText(p, 'purpose')}: ${payloadText(p, 'detail')}`,
    technical: (p) => `${payloadText(p, 'reason')}, ${askedText(p)}`,
  },
  'recovery.started': {
    meaning: 'the intent of a recovery was recorded',
    sentence: (p) => `problem: ${followedBy(payloadText(p, 'evidence'), `Unstuck ${recoveryText(p)}`)}`,
    technical: (p) => `${payloadText(p, 'label')}, playbook ${payloadText(p, 'playbook')}, ${actionName(p)}`,
  },
  recovery: {
    meaning: 'a recovery ended: its post-condition holds or does not',
    sentence: (p) => `the recovery ${p.status === 'success' ? 'worked' : 'did not help'}: ${payloadText(p, 'detail')}`,
    technical: (p) => `playbook ${payloadText(p, 'playbook')}, ${payloadText(p, 'action_taken')}`,
  },
  blocker: { meaning: 'a permission problem that corrections did not cure', sentence: (p) => payloadText(p, 'text') },
  'escalation.opened': {
    meaning: 'a question to a person was opened',
    sentence: (p) => `a person must decide: ${payloadText(p, 'happened') || payloadText(p, 'question')}`,
  },
  'escalation.answered': {
    meaning: 'a person answered a question',
    sentence: answerText,
  },
  'escalation.expired': {
    meaning: 'a question no longer applies',
    sentence: () => 'the question no longer applies',
  },
  'verify.flaky': {
    meaning: 'tests failed and passed on the same files; they do not block',
    sentence: (p) =>
      `${payloadText(p, 'command')} is flaky (${payloadText(p, 'failing')}): ${payloadText(p, 'detail')}`,
  },
  'verify.baseline': {
    meaning: 'a failed check was compared with the base commit',
    sentence: baselineText,
  },
  'verify.probed': {
    meaning: 'after a failed check, probes inspected the machine and the installed packages',
    sentence: (p) => `probes after ${payloadText(p, 'command')}: ${probesText(p)}`,
  },
  'verify.weakened': {
    meaning: 'the work weakened its tests or checks; a person is asked about those that the task does not name',
    sentence: (p) => `the work weakened its tests or checks: ${payloadText(p, 'weakened')}`,
  },
  'merge.enqueued': {
    meaning: 'a commit entered the merge queue',
    sentence: () => 'the work entered the merge queue',
    technical: (p) => `merge entry ${payloadText(p, 'number')}`,
  },
  'merge.processing': {
    meaning: 'a merge started',
    sentence: () => 'the work is being merged',
    technical: (p) => `merge entry ${payloadText(p, 'number')}`,
  },
  'merge.reverified': {
    meaning: 'a rebased commit was verified again',
    sentence: (p) =>
      `rebased to ${payloadText(p, 'commit').slice(0, 12)} and verified again: ${p.passed === true ? 'passed' : 'failed'}`,
  },
  'merge.retried': {
    meaning: 'a merge is tried again from the beginning',
    sentence: (p) => `the merge is tried again: ${payloadText(p, 'detail')}`,
  },
  'merge.merged': {
    meaning: 'a commit is on the goal branch',
    sentence: (p) => `the work was merged as ${payloadText(p, 'landedCommit').slice(0, 12)}`,
  },
  'merge.failed': {
    meaning: 'a commit could not be merged',
    sentence: (p) => `the work could not be merged: ${payloadText(p, 'detail')}`,
  },
  'merge.cancelled': { meaning: 'a merge was cancelled', sentence: () => 'the merge was cancelled' },
  'ref.restored': {
    meaning: 'a ref of Unstuck was moved by another program and was restored',
    sentence: (p) =>
      `${payloadText(p, 'ref')} had been moved to ${payloadText(p, 'found') || 'nothing'} by another program and was restored`,
  },
  'remote.unreachable': {
    meaning: 'the git remote does not respond; work that needs it waits',
    sentence: (p) => `the git remote does not respond: ${payloadText(p, 'detail')}`,
  },
  'remote.reachable': {
    meaning: 'the git remote responds again',
    sentence: (p) => `the git remote ${payloadText(p, 'remote')} responds again`,
  },
  'remote.pushed': {
    meaning: 'a commit was pushed to the git remote',
    sentence: (p) => `pushed ${payloadText(p, 'commit').slice(0, 12)} to ${payloadText(p, 'ref')} of the remote`,
  },
  'remote.refused': {
    meaning: 'the git remote refused a push, with its own message',
    sentence: (p) =>
      `the remote refused the push to ${payloadText(p, 'ref')} (try ${payloadText(p, 'attempt')}): ${payloadText(p, 'detail')}`,
  },
  'remote.moved': {
    meaning: 'others pushed commits to the goal branch on the git remote; Unstuck continues from them',
    sentence: (p) =>
      `others pushed to ${payloadText(p, 'ref')} on the remote; Unstuck continues from ${payloadText(p, 'tip').slice(0, 12)}`,
  },
  'run.stop_asked': {
    meaning: 'a person requested the end of a run, on whichever engine it runs',
    sentence: () => 'a person requested the end of the run',
  },
  'lease.expired': {
    meaning: 'a lease expired without its owner, and its task went back to the queue',
    sentence: (p) => `the lease expired, and the task went back to the queue: ${payloadText(p, 'evidence')}`,
  },
  'lease.dangling': {
    meaning: 'a lease whose work had ended was released',
    sentence: (p) => `a leftover lease was released: ${payloadText(p, 'evidence')}`,
  },
  'run.unleased': {
    meaning: 'a run without a lease was found running, and was ended',
    sentence: (p) => `the run had no lease and was ended: ${payloadText(p, 'evidence')}`,
  },
  'task.orphaned': {
    meaning: 'a task was marked running without a run, and went back to the queue',
    sentence: (p) => `the task was marked running, but had no run: ${payloadText(p, 'evidence')}`,
  },
  'agent.offline': {
    meaning: 'agents went offline with their engine, or with the last run of a removed slot',
    sentence: (p) => `agents went offline: ${payloadText(p, 'agents')} (${payloadText(p, 'evidence')})`,
  },
  'engine.registered': {
    meaning: 'an engine registered and accepts work',
    sentence: (p) => `engine ${payloadText(p, 'engine')} started on ${payloadText(p, 'host')}`,
  },
  'engine.draining': {
    meaning: 'an engine accepts no new work and stops when its runs have ended',
    sentence: (p) =>
      `engine ${payloadText(p, 'engine')} is draining: it accepts no new work, and ${counted(p, 'running', 'run')} will finish`,
  },
  'engine.offline': {
    meaning: 'an engine shut down, or was found dead by two signals',
    sentence: (p) =>
      `engine ${payloadText(p, 'engine')} ${p.trigger === 'died' ? `is dead: ${payloadText(p, 'evidence')}` : 'shut down'}`,
  },
  'engine.clock_jumped': {
    meaning: 'a clock jumped or the machine was suspended: nothing is declared dead during a grace period',
    sentence: (p) =>
      `${payloadText(p, 'evidence')}; nothing is declared dead for the next ${payloadText(p, 'graceSeconds')} s`,
  },
  'leader.changed': {
    meaning: 'another engine became the leader: it judges, merges and cleans up after dead engines',
    sentence: (p) => `engine ${payloadText(p, 'engine')} became the leader`,
  },
  'account.limited': {
    meaning: 'an account is at its limit: no agent is launched with it until the limit resets',
    sentence: (p) =>
      `${payloadText(p, 'harnesses') || payloadText(p, 'account')} is at the limit of its account ("${payloadText(p, 'evidence')}"); no agent is launched with it until ${payloadText(p, 'until')}`,
    technical: (p) => `account ${payloadText(p, 'account')}`,
  },
  'account.available': {
    meaning: 'agents are launched with an account again',
    sentence: (p) => `account ${payloadText(p, 'account')} is available again: ${payloadText(p, 'reason')}`,
  },
  'dispatcher.waiting': {
    meaning: 'an engine accepts no new work because its machine lacks disk space, memory or another resource',
    sentence: (p) => `engine ${payloadText(p, 'engine')} accepts no new work: ${payloadText(p, 'reason')}`,
  },
  'dispatcher.admitted': {
    meaning: 'an engine accepts new work again',
    sentence: (p) => `engine ${payloadText(p, 'engine')} accepts new work again`,
  },
  'agent.registered': {
    meaning: 'the engine registered its executor slots',
    sentence: (p) => `agents registered: ${payloadText(p, 'agents')}`,
  },
  'engine.started': {
    meaning: 'the engine started',
    sentence: (p) => `the engine started and re-attached to ${counted(p, 'reattached', 'run')}`,
  },
  'engine.stopped': { meaning: 'the engine shut down', sentence: () => 'the engine shut down' },
}

/** One event as a sentence; an unknown type (from a newer engine) as its name. */
export const sentenceOf = (event: Pick<StoredEvent, 'type' | 'payload'>): string =>
  eventTypes[event.type]?.sentence(event.payload) ?? event.type
