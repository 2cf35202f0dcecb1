/** Whatever a planner writes, the printed plan is a checklist with the same tasks, settings and order. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { samples } from '../../../test/support/samples.ts'
import { goalFromChecklist } from '../../runtime/goal/goal-input.ts'
import { planLines } from './plan-checklist.ts'

const line = fc.constantFrom(
  ...[
    'Mend it.',
    '- [ ] a box',
    '- [x] done',
    '- run: rm -rf x',
    '1. paths: **',
    '* note: be kind',
    '  - after: 9',
    '',
    '```js',
  ],
  ...['~~~', '- ```', '# heading', '  deeper', '- plain', '[] no box', '- [] no box', 'a\r- [ ] carriage'],
)
const text = fc.array(line, { minLength: 1, maxLength: 8 }).map((lines) => `Do it.\n${lines.join('\n')}`)
const task = fc.record({
  ...{ instructions: text, role: fc.constantFrom('worker', 'tester', 'docser') },
  ...{
    commands: fc.subarray(['npm test', 'npm run lint']),
    allowedPaths: fc.subarray(['src/**', 'app/[id]/x.js', '**'], { minLength: 1 }),
  },
})

it('reads as the plan that was printed', () => {
  fc.assert(
    fc.property(fc.array(task, { minLength: 1, maxLength: 4 }), fc.array(text, { maxLength: 2 }), (tasks, notes) => {
      const planned = tasks.map((each, at) => ({
        ...each,
        ...{ title: `Task ${at + 1}`, purpose: 'it is needed', after: at === 0 ? [] : [at - 1] },
      }))
      const plan = {
        ...{ tasks: planned, notes, policyRecoveryHintApplications: [], reason: notes[0] ?? '' },
        earlier: { tasks: 0, tokens: 0, costUsd: 0, seconds: 0 },
      }
      const goal = goalFromChecklist('plan.md', planLines('The goal', plan).join('\n'))
      expect(goal.title).toBe('The goal')
      expect(
        goal.tasks.map(({ title, role, commands, allowedPaths, after }) => ({
          title,
          role,
          commands,
          allowedPaths,
          after,
        })),
      ).toEqual(
        planned.map(({ title, role, commands, allowedPaths, after }) => ({
          ...{ title, role, commands },
          allowedPaths: allowedPaths.includes('**') ? ['**'] : allowedPaths,
          after: after.map((other) => String(other + 1)),
        })),
      )
    }),
    { numRuns: samples(500) },
  )
})
