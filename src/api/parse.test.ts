import { expect, it } from 'vitest'
import { parse } from './parse.ts'
import { goalRequest } from './contract.ts'

const [example] = (goalRequest.meta()?.examples ?? []) as { input: object; options: object }[]

const refusal = (body: unknown): string => {
  try {
    parse(goalRequest, body, 'request body')
    return 'accepted'
  } catch (error) {
    return (error as Error).message
  }
}

it('accepts the goal that it shows as an example', () => {
  expect(refusal(example)).toBe('accepted')
})

it.each([
  [{}, 'request body, field input: missing; '],
  [{ ...example, options: { ...example?.options, repoMode: 'here' } }, 'field options.repoMode: given "here"; '],
  [{ ...example, options: { ...example?.options, repoMode: 'here' } }, '"local"|"direct"'],
  [{ ...example, input: { ...example?.input, tasks: 'x' } }, 'field input.tasks: given "x"; '],
  [{ ...example, goal: 'x' }, 'Unrecognized key: "goal"'],
])('a goal of another shape names the field, what was given and what is accepted', (body, words) => {
  expect(refusal(body)).toContain(words)
  expect(refusal(body)).toContain(`Accepted, for example: ${JSON.stringify(example)}`)
})
