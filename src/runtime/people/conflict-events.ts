/** The events about finished work that conflicts, and about work that has landed. */
import { payloadText, type EventTypes } from './event-text.ts'

export const conflictEvents: EventTypes = {
  'judge.conflict_autofix_task_created': {
    meaning: 'a new task solves the conflict of finished work in a workspace of its own',
    sentence: (p) =>
      `task ${payloadText(p, 'child')} solves the conflict in a workspace that has both sides: ${payloadText(p, 'evidence')}`,
  },
  'judge.mainline_recreate_task_created': {
    meaning: 'the task that was to solve the conflict ended without a result; the work is done again on the newer base',
    sentence: (p) =>
      `the conflict is still there, so the task starts over on the newer base: ${payloadText(p, 'evidence')}`,
  },
  'goal.target_checked': {
    meaning: "the checks of the user's branch ran once after a goal had landed on it",
    sentence: (p) =>
      p['state'] === 'passed'
        ? `the checks pass on ${payloadText(p, 'branch')} after the landing`
        : `${payloadText(p, 'detail')}${p['undo'] === undefined ? '' : `; to undo it: ${payloadText(p, 'undo')}`}`,
  },
  'task.reverted': {
    meaning: "a person undid the work of a landed task on the user's branch",
    sentence: (p) =>
      `a person reverted the work on ${payloadText(p, 'branch')} (${payloadText(p, 'commit').slice(0, 12)})`,
  },
}
