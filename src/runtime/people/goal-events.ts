/** Events of a goal as a whole: their meaning and their sentence. */
import { issueName } from '../../domain/issue-name.ts'
import { counted, payloadText, type EventTypes, type Payload } from './event-text.ts'

/** `paused by a person` is a reason that repeats the event: then it is the sentence. */
const withReason = (payload: Payload, verb: string): string => {
  const reason = payloadText(payload, 'reason')
  return reason.startsWith(`${verb} by`) ? `the goal was ${reason}` : `the goal was ${verb}: ${reason}`
}

export const goalEvents: EventTypes = {
  'goal.created': {
    meaning: 'a goal was accepted',
    sentence: (p) => `the goal "${payloadText(p, 'title')}" was accepted`,
  },
  'goal.issue_taken': {
    meaning: 'a goal was made of an issue of the forge',
    sentence: (p) =>
      `the goal was made of issue ${issueName(payloadText(p, 'issue'))}${payloadText(p, 'url') === '' ? '' : ` (${payloadText(p, 'url')})`}`,
  },
  'goal.corrected': {
    meaning: 'a check or a review of the pull request objects to the work, and a task puts it right',
    sentence: (p) => withReason(p, 'the work is corrected'),
  },
  'goal.pull_request_check': {
    meaning: 'a check of the pull request is run again',
    sentence: (p) => `the check ${payloadText(p, 'name')} is run again: ${payloadText(p, 'reason')}`,
  },
  'goal.pull_request': {
    meaning: 'the pull request of a goal was opened, merged or closed',
    sentence: (p) =>
      `pull request #${payloadText(p, 'number')} is ${payloadText(p, 'state')} (${payloadText(p, 'url')})`,
  },
  'goal.planned': {
    meaning: 'the tasks of a goal are in the queue',
    sentence: (p) => `planned: ${payloadText(p, 'reason')}`,
  },
  'planner.plan_created': {
    meaning: 'a planner divided the goal into tasks; without a plan that counts the goal is one task',
    sentence: (p) =>
      p.reason === undefined
        ? `the goal was planned as ${counted(p, 'count', 'task')}${p.mode === 'only' ? ', which are only shown' : ''}`
        : `there is no plan, so the goal is one task: ${payloadText(p, 'reason')}`,
  },
  'planner.replan_triggered': {
    meaning: 'every task of a planned goal is done; a planner compares the goal with what was done',
    sentence: () => 'what was done is compared with what the goal asks for',
  },
  'planner.replan_finished': {
    meaning: 'a planner compared a goal with what was done; what is missing became tasks',
    sentence: (p) =>
      p.count === 0 ? 'nothing is missing of the goal' : `${counted(p, 'count', 'task')} added for what is missing`,
  },
  'planner.replan_skipped': {
    meaning: 'a goal was not compared with what was done',
    sentence: (p) => withReason(p, 'what is missing was not looked for'),
  },
  'planner.replan_failed': {
    meaning: 'a planner gave no answer that counts about what is missing; the goal ends as it is',
    sentence: (p) => withReason(p, 'what is missing could not be found out'),
  },
  'goal.paused': {
    meaning: 'no new work of the goal starts',
    sentence: (p) => withReason(p, 'paused'),
  },
  'goal.resumed': {
    meaning: 'work of the goal continues',
    sentence: (p) => withReason(p, 'resumed'),
  },
  'goal.awaiting_human': {
    meaning: 'every unfinished task of the goal waits for a person',
    sentence: (p) => payloadText(p, 'reason'),
  },
  'goal.ready': {
    meaning: 'every task is done, and the work is on the goal branch or, in direct mode, in the folder',
    sentence: (p) =>
      p.repoMode === 'direct' || !payloadText(p, 'reason').startsWith('unstuck ')
        ? 'every task is done'
        : `every task is done, and the work is on the goal branch; to land it: ${payloadText(p, 'reason')}`,
  },
  'goal.done': {
    meaning: "the work is on the user's branch",
    sentence: (p) => `the goal is done: ${payloadText(p, 'reason')}`,
  },
  'goal.branch_removed': {
    meaning: 'the branch of a goal that has ended was removed; of a cancelled goal with work, a snapshot stays',
    sentence: (p) => `its branch ${payloadText(p, 'branch')} was removed: ${payloadText(p, 'reason')}`,
  },
  'goal.not_landed': {
    meaning: "the user's branch could not be fast-forwarded",
    sentence: (p) =>
      `not landed: ${payloadText(p, 'detail')}${Array.isArray(p.paths) && p.paths.length > 0 ? ` (${p.paths.join(', ')})` : ''}`,
  },
  'goal.outdated': {
    meaning: 'the target has commits that the goal branch lacks; the goal is rebased before its other work continues',
    sentence: (p) => payloadText(p, 'reason'),
  },
  'goal.rebased': {
    meaning: 'the goal branch was rebased onto the tip of its target',
    sentence: (p) =>
      `the goal branch now starts at ${payloadText(p, 'onto').slice(0, 12)}, the tip of its target${p.leftOut === 0 ? ` (${counted(p, 'commits', 'commit')})` : `; ${counted(p, 'leftOut', 'task')} of it start again there`}`,
  },
  'goal.cannot_sign': {
    meaning:
      "the owner's git signs commits, and the key cannot be used without a person; the work goes on, and its landing will ask",
    sentence: (p) =>
      `your git signs commits, and your key cannot be used without you: ${payloadText(p, 'detail')}. The work goes on; unlock the key in its agent before it lands, or set git.signCommits to false`,
  },
  'goal.signed': {
    meaning: "the commits that are about to land were signed with the owner's key",
    sentence: (p) => `${counted(p, 'commits', 'commit')} signed with your key`,
  },
  'goal.reverified': {
    meaning: 'the checks of a rebased goal ran again',
    sentence: (p) => `verified again on the newer base: ${p.passed === true ? 'passed' : 'failed'}`,
  },
  'goal.landing_asked': {
    meaning:
      'a person requested the landing of a ready goal, or of one whose work is verified on a newer base first (`comesLater`)',
    sentence: (p) =>
      `a person requested the landing on ${payloadText(p, 'branch')}${p.comesLater === true ? '; it lands when it is verified on the newer base' : ''}`,
  },
  'goal.part_landed': {
    meaning: "what is done of an unfinished goal is on the user's branch",
    sentence: (p) =>
      `${counted(p, 'done', 'finished task')} landed on ${payloadText(p, 'branch')}; ${counted(p, 'left', 'task')} of the goal ${p.left === 1 ? 'is' : 'are'} not done yet`,
  },
  'goal.began_again': {
    meaning: 'the goal branch was lost; the goal starts again on the present tip of its target',
    sentence: (p) => `the goal started again: ${counted(p, 'tasks', 'task')} must be done again`,
  },
  'repository.replaced': {
    meaning: 'another git directory is at the path of the repository',
    sentence: () => 'the repository at this path was re-created, copied or restored',
  },
  'goal.failed': {
    meaning: 'a needed task was cancelled',
    sentence: (p) => `the goal failed: ${payloadText(p, 'reason')}`,
  },
  'goal.cancelled': { meaning: 'a person cancelled the goal', sentence: (p) => payloadText(p, 'reason') },
}
