/** Rung 7: a reviewer or a person objects to finished work. */
import { playbook, type Playbook } from '../playbook.ts'

const neededEvidence =
  'an objection with points on the changed files; no task corrects the work yet, and the line of tasks is shorter than requeue.reworkDepth'

/** A person decides when the same objection comes back: writer and reviewer could argue for ever. */
const autoFix = playbook({
  id: 'auto-fix-objection',
  rung: 7,
  scope: 'goal',
  title: 'Make a task that corrects the points of the objection',
  labels: ['review_objection'],
  neededEvidence: `${neededEvidence}; the objection is a new one`,
  example: { again: false, mayCorrect: true, key: '<points>' },
  plan: ({ facts, evidence }) =>
    facts.mayCorrect && !facts.again
      ? { type: 'answer_objection', name: 'AUTO_FIX_OBJECTION', because: evidence, key: facts.key }
      : undefined,
  postCondition: () => ({ type: 'work_merges' }),
  budget: 1,
  counted: true,
})

const otherWriter = playbook({
  id: 'auto-fix-other-harness',
  rung: 7,
  scope: 'goal',
  title: 'Make a task that corrects the points with another harness',
  labels: ['review_objection'],
  neededEvidence: `${neededEvidence}; the same objection was raised before, and a harness of harness.failover has not worked on it yet`,
  example: { again: true, mayCorrect: true, key: '<points>', otherHarness: '<harness>' },
  plan: ({ facts, evidence }) =>
    facts.mayCorrect && facts.again && facts.otherHarness !== undefined
      ? {
          ...{ type: 'answer_objection', name: 'AUTO_FIX_OBJECTION', because: evidence, key: facts.key },
          harness: facts.otherHarness,
        }
      : undefined,
  postCondition: () => ({ type: 'work_merges' }),
  budget: 1,
  counted: true,
})

export const objectionPlaybooks: readonly Playbook[] = [autoFix, otherWriter]
