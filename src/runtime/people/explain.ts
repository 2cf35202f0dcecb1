/** Tells the story of a task, run or goal to someone who was asleep: each event as one plain sentence. Pure. */
import { stillRed, type Verdict } from '../../domain/run.ts'
import { redText } from '../../domain/still-red.ts'
import type { StoredEvent } from '../../store/event.ts'
import { editSentence } from './edit-words.ts'
import { movedRefs, text, type EventTypes, type Payload } from './event-text.ts'
import { goalEvents } from './goal-events.ts'

/** What the checks showed, never more than that. */
const verdictText = ({ verdict }: Payload): string => {
  const { outcome = 'not verified', checks = [] } = (verdict ?? {}) as Partial<Verdict>
  const red = stillRed(checks)
  return red.length === 0 ? outcome : `${outcome}, still failing as before the work: ${redText(red)}`
}

const actionName = (payload: Payload): string => {
  const action = payload.action as
    | {
        name?: string
        addDir?: string
        command?: string
        delayMs?: number
        until?: string
        directory?: string
        chmod?: { directory?: string }
      }
    | undefined
  const detail =
    action?.addDir ??
    action?.directory ??
    action?.chmod?.directory ??
    action?.command ??
    (action?.until === undefined ? undefined : `until ${action.until}`) ??
    (action?.delayMs === undefined ? undefined : `${Math.round(action.delayMs / 1000)} s`)
  return `${action?.name ?? '?'}${detail === undefined ? '' : ` (${detail})`}`
}

const probeWords = ({ found }: Payload): string =>
  Array.isArray(found)
    ? (found as { probe: string; points: string; text: string }[])
        .map(
          ({ probe, points, text: said }) =>
            `${probe}: ${said}${points === 'neither' ? '' : ` (at fault: the ${points})`}`,
        )
        .join('; ')
    : ''

const launchText = (payload: Payload): string => {
  const version = text(payload, 'version') || 'of unknown version'
  const taken = payload.exact === false ? ` (not measured: taken for ${text(payload, 'measured')})` : ''
  return `launch ${text(payload, 'launch')}: ${text(payload, 'driver')} ${version}${taken}`
}

const preparedSentence = (payload: Payload): string => {
  const missing = (payload.missing ?? []) as { path: string; reason: string }[]
  return [
    'the workspace was prepared',
    ...(text(payload, 'submodules') === '' ? [] : [`submodules ${text(payload, 'submodules')}`]),
    ...missing.map(({ path, reason }) => `submodule ${path} is missing: ${reason}`),
    ...(text(payload, 'copied') === '' ? [] : [`copied ${text(payload, 'copied')}`]),
    ...(payload.setup === true ? ['set up by workspace.setup'] : []),
  ].join('; ')
}

/** What each type of event means; also the source of docs/events.md. */
export const eventTypes: EventTypes = {
  ...goalEvents,
  'task.created': {
    meaning: 'a task was queued',
    sentence: (p) => `task ${text(p, 'number')} "${text(p, 'title')}" was queued`,
  },
  'task.claimed': { meaning: 'an agent took the task', sentence: (p) => `${text(p, 'agent')} took the task` },
  'task.requeued': {
    meaning: 'the task went back to the queue',
    sentence: (p) =>
      `back to the queue: ${text(p, 'reason') || text(p, 'trigger')}${text(p, 'hint') === '' ? '' : `; ${text(p, 'by')} says: ${text(p, 'hint')}`}`,
  },
  'task.edited': { meaning: 'a person changed the task', sentence: editSentence },
  'task.taken_over': {
    meaning: 'a person works on the task in a folder, instead of an agent',
    sentence: (p) => `taken over by ${text(p, 'by')} in ${text(p, 'folder')}`,
  },
  'task.given_back': {
    meaning: 'a person is done with the task; its next run collects and checks their work',
    sentence: (p) => `given back by ${text(p, 'by')}; the work in ${text(p, 'folder')} is collected and checked`,
  },
  'task.approved': {
    meaning: 'a person approved finished work that had weakened its checks; it lands as it is',
    sentence: () => 'approved by a person as it is; waiting for the merge queue',
  },
  'task.awaiting_judge': {
    meaning: 'a run succeeded and waits for its judgement',
    sentence: (p) => `${verdictText(p)}; waiting for the judge and the merge queue`,
  },
  'task.done': {
    meaning: 'the work of the task is where it belongs',
    sentence: (p) => `done${text(p, 'commit') === '' ? '' : ` as commit ${text(p, 'commit').slice(0, 12)}`}`,
  },
  'task.failed': {
    meaning: 'a run failed and a retry is scheduled',
    sentence: (p) =>
      `the run failed (${text(p, 'failureCode')}); retry ${text(p, 'count')} of ${text(p, 'limit')} at ${text(p, 'retryAt')}`,
  },
  'task.quota_wait': {
    meaning: 'a limit of the account was reached; the task waits until it resets',
    sentence: (p) => `the limit is reached ("${text(p, 'evidence')}"); it goes on at ${text(p, 'retryAt')}`,
  },
  'task.escalated': {
    meaning: 'the task waits for a person',
    sentence: (p) => `waits for a person: ${text(p, 'label') || text(p, 'reason')}`,
  },
  'task.recovery_escalated': {
    meaning: 'no recovery is left',
    sentence: (p) => `no recovery is left for ${text(p, 'label')}: ${text(p, 'evidence')}`,
  },
  'task.cancelled': {
    meaning: 'the task was cancelled',
    sentence: (p) => `cancelled${text(p, 'reason') === '' ? '' : `: ${text(p, 'reason')}`}`,
  },
  'run.started': {
    meaning: 'an attempt began',
    sentence: (p) =>
      `attempt ${text(p, 'number')} began with ${text(p, 'harness')}${text(p, 'insteadOf') === '' ? '' : ` (the account of ${text(p, 'insteadOf')} is at its limit)`}`,
  },
  'run.phase': { meaning: 'an attempt entered a phase', sentence: (p) => `phase ${text(p, 'to')}` },
  'run.launched': {
    meaning: 'an agent runs: which CLI, in which version, and with which one our knowledge of it was measured',
    sentence: (p) => launchText(p),
  },
  'run.reattached': {
    meaning: 'a restarted engine took up a run',
    sentence: (p) => `a restarted engine took up the run in phase ${text(p, 'phase')}`,
  },
  'run.succeeded': {
    meaning: 'an attempt ended well; its verdict says what its checks showed',
    sentence: () => 'the attempt succeeded',
  },
  'run.failed': { meaning: 'an attempt failed', sentence: (p) => `the attempt failed: ${text(p, 'message')}` },
  'run.cancelled': {
    meaning: 'an attempt was ended without a verdict',
    sentence: (p) => `the attempt was ended: ${text(p, 'message')}`,
  },
  'run.quiet': {
    meaning: 'an agent prints nothing and uses no processor for a while; nothing is done yet',
    sentence: (p) =>
      `quiet for ${text(p, 'quietSeconds')} s: ${text(p, 'processes')} process(es) use ${text(p, 'cpuPercent')} % of a core`,
  },
  'run.stalled': {
    meaning: 'an agent was found stuck on two signals, no output and no processor time, and is ended',
    sentence: (p) =>
      `stuck (${text(p, 'stall').replaceAll('_', ' ')}): quiet for ${text(p, 'quietSeconds')} s, ${text(p, 'processes')} process(es) use ${text(p, 'cpuPercent')} % of a core`,
  },
  'run.workspace_prepared': {
    meaning: 'a fresh workspace has its submodules, the files of `workspace.copy`, and was set up by `workspace.setup`',
    sentence: (p) => preparedSentence(p),
  },
  'run.dependencies_mended': {
    meaning: 'installed packages of a workspace that is used again were damaged and put aside',
    sentence: (p) =>
      `installed packages were damaged (${text(p, 'damage')}) and put aside; ${p.laid === true ? 'they were laid again from the cache' : 'an install has to bring them'}`,
  },
  'recovery.started': {
    meaning: 'the intent of a recovery was recorded',
    sentence: (p) =>
      `saw ${text(p, 'label')} ("${text(p, 'evidence')}"); playbook ${text(p, 'playbook')} does ${actionName(p)}`,
  },
  recovery: {
    meaning: 'the post-condition of a recovery was decided',
    sentence: (p) => `recovery ${text(p, 'action_taken')}: ${text(p, 'status')} (${text(p, 'detail')})`,
  },
  blocker: { meaning: 'a permission problem that corrections did not cure', sentence: (p) => text(p, 'text') },
  'escalation.opened': {
    meaning: 'a question was put to a person',
    sentence: (p) => `asked: ${text(p, 'happened') || text(p, 'question')}`,
  },
  'escalation.answered': { meaning: 'a person answered', sentence: (p) => `answered: ${text(p, 'answer')}` },
  'escalation.expired': { meaning: 'a question was overtaken', sentence: () => 'the question was overtaken' },
  'verify.flaky': {
    meaning: 'tests failed and passed in one and the same state of the work; they do not block',
    sentence: (p) => `${text(p, 'command')} is flaky (${text(p, 'failing')}): ${text(p, 'detail')}`,
  },
  'verify.baseline': {
    meaning: 'a failed check was compared with the base commit',
    sentence: (p) =>
      `${text(p, 'command')} failed (${text(p, 'failing')}): ${text(p, 'detail')}; ${p.blocks === true ? 'it blocks' : 'listed, it does not block'}`,
  },
  'verify.probed': {
    meaning: 'after a failed check, probes looked at the machine and at what is installed',
    sentence: (p) => `probes after ${text(p, 'command')}: ${probeWords(p)}`,
  },
  'verify.weakened': {
    meaning: 'the work weakened its tests or what a check is; what the task does not name, a person is asked about',
    sentence: (p) => `the work weakened its tests or checks: ${text(p, 'weakened')}`,
  },
  'judge.review': {
    meaning: 'the judge decided',
    sentence: (p) =>
      `judge (${text(p, 'mode')}): ${text(p, 'verdict')}, ${text(p, 'reason')}${Array.isArray(p.weakened) && p.weakened.length > 0 ? `; weakened: ${p.weakened.join('; ')}` : ''}`,
  },
  'merge.enqueued': {
    meaning: 'a commit entered the merge queue',
    sentence: (p) => `merge entry ${text(p, 'number')} queued`,
  },
  'merge.processing': { meaning: 'a merge began', sentence: (p) => `merging entry ${text(p, 'number')}` },
  'merge.reverified': {
    meaning: 'a rebased commit was verified again',
    sentence: (p) =>
      `rebased to ${text(p, 'commit').slice(0, 12)} and verified again: ${p.passed === true ? 'passed' : 'failed'}`,
  },
  'merge.retried': {
    meaning: 'a merge starts over',
    sentence: (p) => `merge entry ${text(p, 'number')} starts over: ${text(p, 'detail')}`,
  },
  'merge.merged': {
    meaning: 'a commit is on the goal branch',
    sentence: (p) => `merged as ${text(p, 'landedCommit').slice(0, 12)}`,
  },
  'merge.failed': { meaning: 'a commit could not be merged', sentence: (p) => `not merged: ${text(p, 'detail')}` },
  'merge.cancelled': {
    meaning: 'a merge was cancelled',
    sentence: (p) => `merge entry ${text(p, 'number')} was cancelled`,
  },
  'ref.restored': {
    meaning: 'somebody moved our goal branch, it was put back',
    sentence: (p) => `${text(p, 'ref')} had been moved to ${text(p, 'found') || 'nothing'} and was put back`,
  },
  'remote.unreachable': {
    meaning: 'the git remote does not answer; what needs it waits',
    sentence: (p) => `the remote does not answer: ${text(p, 'detail')}`,
  },
  'remote.reachable': {
    meaning: 'the git remote answers again',
    sentence: (p) => `${text(p, 'remote')} answers again`,
  },
  'remote.pushed': {
    meaning: 'a commit went to the git remote',
    sentence: (p) => `pushed ${text(p, 'commit').slice(0, 12)} to ${text(p, 'ref')} of the remote`,
  },
  'remote.refused': {
    meaning: 'the git remote did not take a push, in its own words',
    sentence: (p) => `the remote refused ${text(p, 'ref')} (try ${text(p, 'attempt')}): ${text(p, 'detail')}`,
  },
  'remote.moved': {
    meaning: 'others put commits onto our goal branch on the git remote; we build upon them',
    sentence: (p) =>
      `${text(p, 'ref')} was moved on to ${text(p, 'tip').slice(0, 12)} on the remote; going on from there`,
  },
  'ref.moved': {
    meaning: 'refs of the user changed while an agent ran',
    sentence: (p) => `refs changed while the agent ran: ${movedRefs(p)}`,
  },
  'run.stop_asked': {
    meaning: 'the end of a run was asked for, wherever it is executed',
    sentence: () => 'a person asked for the end of the run',
  },
  'lease.expired': {
    meaning: 'a lease ended without its holder, and its task was given back',
    sentence: (p) => `the lease was taken back: ${text(p, 'evidence')}`,
  },
  'lease.dangling': {
    meaning: 'a lease whose work had ended was freed',
    sentence: (p) => `a lease was freed: ${text(p, 'evidence')}`,
  },
  'run.unleased': {
    meaning: 'a run was found running without a lease, and ended',
    sentence: (p) => `the run had no lease: ${text(p, 'evidence')}`,
  },
  'task.orphaned': {
    meaning: 'a task was found running without a run, and given back',
    sentence: (p) => `the task was running without a run: ${text(p, 'evidence')}`,
  },
  'agent.offline': {
    meaning: 'agents went out of service with their engine, or with the last run of a slot that is gone',
    sentence: (p) => `agents offline: ${text(p, 'agents')} (${text(p, 'evidence')})`,
  },
  'engine.registered': {
    meaning: 'an engine took up service',
    sentence: (p) => `engine ${text(p, 'engine')} on ${text(p, 'host')} took up service`,
  },
  'engine.draining': {
    meaning: 'an engine takes no new work and stops when its runs have ended',
    sentence: (p) => `engine ${text(p, 'engine')} is draining: no new work, ${text(p, 'running')} run(s) go on`,
  },
  'engine.offline': {
    meaning: 'an engine left in order, or was found dead on two signals',
    sentence: (p) => `engine ${text(p, 'engine')} ${p.trigger === 'died' ? `is dead: ${text(p, 'evidence')}` : 'left'}`,
  },
  'engine.clock_jumped': {
    meaning: 'a clock jumped, or the machine slept: nothing is declared dead for a while',
    sentence: (p) => `${text(p, 'evidence')}; nothing is declared dead for ${text(p, 'graceSeconds')} s`,
  },
  'leader.changed': {
    meaning: 'another engine leads: judges, merges, heals',
    sentence: (p) => `engine ${text(p, 'engine')} leads now`,
  },
  'account.limited': {
    meaning: 'an account is at its limit: nothing is launched on it until then',
    sentence: (p) =>
      `account ${text(p, 'account')} is at its limit ("${text(p, 'evidence')}"); nothing is launched on it until ${text(p, 'until')}`,
  },
  'account.available': {
    meaning: 'an account takes launches again',
    sentence: (p) => `account ${text(p, 'account')} takes launches again: ${text(p, 'reason')}`,
  },
  'dispatcher.waiting': {
    meaning: 'an engine takes no new work because its machine is short of something',
    sentence: (p) => `engine ${text(p, 'engine')} takes no new work: ${text(p, 'reason')}`,
  },
  'dispatcher.admitted': {
    meaning: 'what an engine was short of is there again',
    sentence: (p) => `engine ${text(p, 'engine')} takes new work again`,
  },
  'agent.registered': {
    meaning: 'the engine registered its executor slots',
    sentence: (p) => `agents registered: ${text(p, 'agents')}`,
  },
  'engine.started': {
    meaning: 'the engine started',
    sentence: (p) => `the engine started and took up ${text(p, 'reattached')} run(s)`,
  },
  'engine.stopped': { meaning: 'the engine stopped in order', sentence: () => 'the engine stopped' },
}

export const sentenceOf = (event: Pick<StoredEvent, 'type' | 'payload'>): string =>
  eventTypes[event.type]?.sentence(event.payload) ?? event.type

/** Phases are steps of the machine; a reader of the story wants what was decided. */
const quiet = new Set(['run.phase', 'agent.registered'])

/** What ends in a question is said by the question alone. */
export const saidByQuestion: readonly string[] = ['task.escalated', 'task.recovery_escalated', 'blocker']

export const storyOf = (events: readonly StoredEvent[]): { at: string; text: string }[] => {
  const asked = new Set(events.filter(({ type }) => type === 'escalation.opened').map(({ taskId }) => taskId))
  return events
    .filter((event) => !quiet.has(event.type) && !(saidByQuestion.includes(event.type) && asked.has(event.taskId)))
    .map((event) => ({ at: event.at.toISOString(), text: sentenceOf(event) }))
}
