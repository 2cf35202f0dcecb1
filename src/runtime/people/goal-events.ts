/** What happens to a goal as a whole, in words. */
import { text, type EventTypes } from './event-text.ts'

export const goalEvents: EventTypes = {
  'goal.created': { meaning: 'a goal was accepted', sentence: (p) => `the goal "${text(p, 'title')}" was accepted` },
  'goal.planned': { meaning: 'its tasks are in the queue', sentence: (p) => `planned: ${text(p, 'reason')}` },
  'goal.paused': {
    meaning: 'no new work of the goal starts',
    sentence: (p) => `the goal paused: ${text(p, 'reason')}`,
  },
  'goal.resumed': { meaning: 'work of the goal goes on', sentence: (p) => `the goal goes on: ${text(p, 'reason')}` },
  'goal.awaiting_human': { meaning: 'all that is left waits for a person', sentence: (p) => text(p, 'reason') },
  'goal.ready': {
    meaning: 'every task is done, and the work is on the goal branch or, in direct mode, in the folder',
    sentence: (p) =>
      p.repoMode === 'direct'
        ? 'every task is done'
        : `everything is on the goal branch; to land it: ${text(p, 'reason')}`,
  },
  'goal.done': {
    meaning: "the work is on the user's branch",
    sentence: (p) => `the goal is done: ${text(p, 'reason')}`,
  },
  'goal.not_landed': {
    meaning: "the user's branch could not be fast-forwarded",
    sentence: (p) =>
      `not landed: ${text(p, 'detail')}${Array.isArray(p.paths) && p.paths.length > 0 ? ` (${p.paths.join(', ')})` : ''}`,
  },
  'goal.outdated': {
    meaning: 'the target has commits that the goal branch lacks; it is rebased before anything else of it happens',
    sentence: (p) => text(p, 'reason'),
  },
  'goal.rebased': {
    meaning: 'the goal branch was brought onto the tip of its target',
    sentence: (p) =>
      `the goal branch was rebased onto ${text(p, 'onto').slice(0, 12)}: ${text(p, 'commits')} commit(s)${p.leftOut === 0 ? '' : `, ${text(p, 'leftOut')} left out because their tasks are done again`}`,
  },
  'goal.reverified': {
    meaning: 'the checks of a rebased goal ran once more',
    sentence: (p) => `verified again on the newer base: ${p.passed === true ? 'passed' : 'failed'}`,
  },
  'goal.landing_asked': {
    meaning: 'a person asked for the landing of a ready goal',
    sentence: (p) => `its landing on ${text(p, 'branch')} was asked for`,
  },
  'goal.began_again': {
    meaning: 'its branch was gone for good; it begins again on what its target is now',
    sentence: (p) => `the goal began again: ${text(p, 'tasks')} task(s) are done once more`,
  },
  'repository.replaced': {
    meaning: 'another git directory is at the path of the repository',
    sentence: () => 'the repository at this path was made again, copied or restored',
  },
  'goal.failed': { meaning: 'a needed task was cancelled', sentence: (p) => `the goal failed: ${text(p, 'reason')}` },
  'goal.cancelled': { meaning: 'a person cancelled the goal', sentence: (p) => text(p, 'reason') },
}
