import { expect, test } from 'vitest'
import { goalFromTaskFile, taskFileSchema } from '../runtime/goal/goal-input.ts'
import { goalRequest } from './contract.ts'

/** Every field of a task in a task file. */
const task = {
  id: 'a',
  title: 'Add a test',
  instructions: 'Add a test for the parser',
  allowedPaths: ['src/**'],
  deniedPaths: ['src/secret'],
  commands: ['npm test'],
  contextFiles: ['docs/notes.md'],
  after: [],
  harness: 'claude',
  model: 'small',
  priority: 1,
  targetArea: 'src',
  role: 'tester',
  kind: 'code',
  judge: 'llm',
  review: { branch: 'feature' },
  link: 'the issue',
}

interface ListSchema {
  properties: { tasks: { items: { properties: object } } }
}

test('a request for a goal takes every field of a task file', () => {
  const { properties } = (taskFileSchema() as unknown as ListSchema).properties.tasks.items
  expect(Object.keys(task).toSorted()).toEqual(Object.keys(properties).toSorted())
  const input = goalFromTaskFile('tasks.json', JSON.stringify({ version: 1, goal: 'Better tests', tasks: [task] }))
  const options = { autoMerge: false, repoMode: 'local', allowedDirs: [], harness: null, limits: {} }
  const request = goalRequest.safeParse({ input, options })
  expect(request.error?.issues).toBeUndefined()
  expect(request.data?.input.tasks).toEqual([task])
})
