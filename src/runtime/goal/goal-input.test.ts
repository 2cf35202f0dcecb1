import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AppError } from '../../errors.ts'
import { goalFromChecklist, goalFromSentence, goalFromTaskFile, readGoal, taskFileSchema } from './goal-input.ts'
import { samples } from '../../../test/support/samples.ts'

const problem = (run: () => unknown): string => {
  try {
    run()
  } catch (error) {
    if (error instanceof AppError && error.code === 'INPUT_INVALID') return error.message
    throw error
  }
  return 'accepted'
}

/** The message first, because it is the better name of the test. */
const byMessage = (rows: [string, string][]): [string, string][] => rows.map(([text, message]) => [message, text])

const plain = { allowedPaths: ['**'], deniedPaths: [], commands: [], after: [], priority: 0, role: 'worker' }

describe('a sentence', () => {
  it('is one task with the whole text as instructions', () => {
    expect(goalFromSentence('  Fix the login  \nIt fails on Mondays.\n')).toEqual({
      title: 'Fix the login',
      requirement: 'Fix the login  \nIt fails on Mondays.',
      tasks: [{ ...plain, id: '1', title: 'Fix the login', instructions: 'Fix the login  \nIt fails on Mondays.' }],
      allowedDirs: [],
      warnings: [],
    })
  })

  it('a long one gets a title that is cut at a word', () => {
    const { title } = goalFromSentence('word '.repeat(50))
    expect(title.length).toBeLessThanOrEqual(73)
    expect(title).toMatch(/word…$/)
  })

  it.each(
    byMessage([
      ['', 'the goal: the text is empty'],
      [' \n', 'the goal: the text is empty'],
      ['a\0b', 'the goal: the text contains a NUL byte'],
      ['x'.repeat(1024 * 1024 + 1), 'the goal: the text is larger than 1 MiB'],
    ]),
  )('refused: %s', (message, text) => {
    expect(problem(() => goalFromSentence(text))).toContain(message)
  })
})

const checklist = `# Faster start #

Some words about it, and an example:

\`\`\`md
- [ ] not a task
\`\`\`

- [x] Measure it
- [ ] Cache the parser
  - paths: src/parser, \`src/{a,b}/**\`, app/[id]/page.tsx
  - denied: src/parser/generated
  - run: \`npm test\`
  - run: npm run lint | cat
  - after: 1
  - harness: codex
  Keep the public names.

  - a plain bullet
    deeper
  \`\`\`ts
  - [ ] code: 1
  \`\`\`
* [ ] Warm it up, quickly
  - after: Cache the parser

A closing remark.
  - paths: ignored
1. [ ] Write it down
   - after: 2, Warm it up, quickly
`

describe('a checklist', () => {
  it('becomes tasks with their settings, instructions and order', () => {
    const goal = goalFromChecklist('todo.md', checklist.replace('2, Warm it up, quickly', '2, 3'))
    expect(goal.title).toBe('Faster start')
    expect(goal.requirement).toContain('A closing remark.')
    expect(goal.tasks).toEqual([
      {
        ...plain,
        id: '2',
        title: 'Cache the parser',
        instructions:
          'Cache the parser\n\nKeep the public names.\n\n- a plain bullet\n  deeper\n```ts\n- [ ] code: 1\n```',
        allowedPaths: ['src/parser', 'src/{a,b}/**', 'app/[id]/page.tsx'],
        deniedPaths: ['src/parser/generated'],
        commands: ['npm test', 'npm run lint | cat'],
        harness: 'codex',
      },
      { ...plain, id: '3', title: 'Warm it up, quickly', instructions: 'Warm it up, quickly', after: ['2'] },
      { ...plain, id: '4', title: 'Write it down', instructions: 'Write it down', after: ['2', '3'] },
    ])
    expect(goal.warnings).toEqual([
      expect.stringContaining('task 2: the check "npm run lint | cat" cannot be run without a shell'),
    ])
  })

  it('reads foreign line endings and a byte-order mark', () => {
    expect(goalFromChecklist('dir/todo.md', '\uFEFF- [ ] A\r\n  - run: npm test\r\n').tasks[0]).toMatchObject({
      title: 'A',
      commands: ['npm test'],
    })
    expect(goalFromChecklist('dir/todo.md', '- [ ] A').title).toBe('todo')
  })

  it('a title with a comma can be waited for', () => {
    expect(goalFromChecklist('t.md', '- [ ] a, b\n- [ ] c\n  - after: a, b').tasks[1]?.after).toEqual(['1'])
  })

  it('a nested box is part of the instructions', () => {
    const { tasks } = goalFromChecklist('t.md', '- [ ] A\n  - [ ] first half\n  - [x] second half')
    expect(tasks).toHaveLength(1)
    expect(tasks[0]?.instructions).toBe('A\n\n- [ ] first half\n- [x] second half')
  })

  it.each(
    byMessage([
      ['just text', 't.md: the checklist has no tasks; write each one as "- [ ] Title"'],
      ['```\n- [ ] a\n```', 't.md: the checklist has no tasks'],
      ['- [x] a\n- [X] b', 't.md: all 2 boxes are ticked'],
      ['- [ ] a\n\n```\n- [ ] b', 't.md:3: the code fence that starts here is never closed'],
      ['- [ ]', 't.md:1: the box has no title'],
      ['- [ ] a\n- [] b', 't.md:2: "[]" is not a box'],
      ['- [ ] a\n- [ ] A', 't.md:2: the title "A" is used on line 1 already'],
      ['- [ ] a\n  - path: src', 't.md:2: unknown word "path:". Did you mean "paths:"?'],
      ['- [ ] a\n  - commands: npm test', 't.md:2: unknown word "commands:". Did you mean "run:"?'],
      ['- [ ] a\n  - paths: src, ../b', 't.md:2: path "../b": it leaves the repository'],
      ['- [ ] a\n  - denied: /etc', 't.md:2: path "/etc": it is absolute'],
      ['- [ ] a\n  - run:', 't.md:2: "run:" has no value'],
      ['- [ ] a\n  - harness: -x', 't.md:2: harness is "-x"; allowed'],
      ['- [ ] a\n  - after: 7', 't.md:2: after "7": no task has this number or title. allowed: a number from 1 to 1'],
      [
        '- [ ] Clean up\n- [ ] b\n  - after: clean pu',
        't.md:3: after "clean pu": no task has this number or title. Did you mean "Clean up"?',
      ],
      [
        '- [ ] a\n  - after: 2\n- [ ] b\n  - after: 1',
        't.md: the tasks depend on each other in a circle: 1 after 2 after 1',
      ],
      ['- [ ] a\n  - after: 1', 't.md: the tasks depend on each other in a circle: 1 after 1'],
      ['- [ ] a\u001b[31m', 't.md:1: the title contains a control character'],
      [`- [ ] ${'a'.repeat(300)}`, 't.md:1: the title has 300 characters'],
      ['- [ ] a\0', 't.md: the text contains a NUL byte'],
      ['', 't.md: the text is empty'],
    ]),
  )('refused: %s', (message, text) => {
    expect(problem(() => goalFromChecklist('t.md', text))).toContain(message)
  })

  it('words with a colon that resemble nothing are instructions', () => {
    expect(
      goalFromChecklist('t.md', '- [ ] a\n  - note: be kind\n  - URL: https://example.org').tasks[0]?.instructions,
    ).toContain('note: be kind')
  })
})

const task = { title: 'A', instructions: 'do A' }
const file = (more: object): string => JSON.stringify({ version: 1, goal: 'G\nmore', tasks: [task], ...more })

describe('a task file', () => {
  it('becomes tasks, with ids by position where none is given', () => {
    const full = {
      id: 'b',
      title: 'B',
      instructions: 'do B',
      allowedPaths: ['src'],
      deniedPaths: ['x'],
      commands: ['npm test'],
      after: ['1', '1'],
      harness: 'codex',
      model: 'm',
      priority: 5,
      targetArea: 'ui',
      role: 'tester',
    }
    expect(goalFromTaskFile('t.json', file({ tasks: [task, full], allowedDirs: ['/data'] }))).toEqual({
      title: 'G',
      requirement: 'G\nmore',
      tasks: [
        { ...plain, id: '1', ...task },
        { ...full, after: ['1'] },
      ],
      allowedDirs: ['/data'],
      warnings: [],
    })
  })

  it.each(
    byMessage([
      ['{', 't.json: the file is not valid JSON'],
      ['[]', 't.json: the whole file is []'],
      [file({ version: 2 }), 't.json: version is 2; allowed: 1'],
      [file({ tsks: [] }), 't.json: unknown key tsks. Did you mean "tasks"?'],
      [
        file({ tasks: [{ ...task, allowedPath: [] }] }),
        't.json: unknown key tasks[0].allowedPath. Did you mean "allowedPaths"?',
      ],
      [file({ tasks: [] }), 't.json: tasks is []; allowed: at least one task'],
      [file({ tasks: [{ title: 'A' }] }), 't.json: tasks[0].instructions is missing; allowed: a text'],
      [file({ tasks: [{ ...task, title: 'a\nb' }] }), 't.json: tasks[0].title is "a\\nb"; allowed: one line'],
      [
        file({ tasks: [{ ...task, instructions: 'a\0' }] }),
        't.json: tasks[0].instructions is "a\\u0000"; allowed: a text',
      ],
      [
        file({ tasks: [{ ...task, allowedPaths: ['ok', '/etc'] }] }),
        't.json: tasks[0].allowedPaths[1] is "/etc"; it is absolute',
      ],
      [file({ tasks: [{ ...task, allowedPaths: ['a/../../b'] }] }), 'it leaves the repository'],
      [file({ tasks: [{ ...task, allowedPaths: [] }] }), 'allowed: at least one path, or no such key'],
      [
        file({ tasks: [{ ...task, role: 'boss' }] }),
        't.json: tasks[0].role is "boss"; allowed: "worker", "tester", "docser"',
      ],
      [file({ tasks: [{ ...task, priority: 1.5 }] }), 'allowed: a whole number from -100 to 100'],
      [file({ tasks: [{ ...task, model: '--yolo' }] }), 'tasks[0].model is "--yolo"; allowed: the name of a model'],
      [file({ tasks: [{ ...task, harness: 'a b' }] }), 'tasks[0].harness is "a b"; allowed: the name of a harness'],
      [file({ allowedDirs: ['rel'] }), 't.json: allowedDirs[0] is "rel"; allowed: an absolute folder'],
      [file({ tasks: [{ ...task, id: '2' }, task] }), 't.json: tasks[1].id is "2", the same as tasks[0].id'],
      [
        file({
          tasks: [
            { ...task, id: 'build' },
            { ...task, after: ['biuld'] },
          ],
        }),
        't.json: tasks[1].after[0] is "biuld": no task has this id. Did you mean "build"?',
      ],
      [
        file({
          tasks: [
            { ...task, id: 'x' },
            { ...task, id: 'a', after: ['c'] },
            { ...task, id: 'b', after: ['a'] },
            { ...task, id: 'c', after: ['x', 'b'] },
          ],
        }),
        't.json: the tasks depend on each other in a circle: a after c after b after a',
      ],
    ]),
  )('refused: %s', (message, text) => {
    expect(problem(() => goalFromTaskFile('t.json', text))).toContain(message)
  })

  it('a wide and deep order without a cycle is accepted quickly', () => {
    const tasks = Array.from({ length: 500 }, (_, index) => ({
      ...task,
      after: Array.from({ length: Math.min(index, 30) }, (_, back) => String(index - back)),
    }))
    expect(goalFromTaskFile('t.json', file({ tasks })).tasks).toHaveLength(500)
  })

  it('the published schema is closed and names the required keys', () => {
    expect(taskFileSchema()).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      additionalProperties: false,
      required: ['version', 'goal', 'tasks'],
      properties: { tasks: { items: { additionalProperties: false, required: ['title', 'instructions'] } } },
    })
  })
})

describe('the argument of run', () => {
  const files: Record<string, Uint8Array> = {
    'todo.md': Buffer.from('- [ ] A'),
    'tasks.json': Buffer.from(file({})),
    'my list.md': Buffer.from('- [ ] B'),
    TODO: Buffer.from('x'),
    'bad.md': Uint8Array.from([0xff, 0xfe, 0x00]),
    'big.md': new Uint8Array(1024 * 1024 + 1),
  }
  const read = (path: string): Uint8Array | undefined => (Object.hasOwn(files, path) ? files[path] : undefined)
  const titles = (argument: string): string[] => readGoal(argument, read).tasks.map(({ title }) => title)

  it('names a file or is a sentence', () => {
    expect(titles('todo.md')).toEqual(['A'])
    expect(titles('tasks.json')).toEqual(['A'])
    expect(titles('my list.md')).toEqual(['B'])
    expect(titles('Update README.md')).toEqual(['Update README.md'])
    expect(titles('Refactor')).toEqual(['Refactor'])
  })

  it.each([
    ['missing.md', 'missing.md: the file does not exist'],
    ['TODO', 'TODO: this file is neither'],
    ['bad.md', 'bad.md: the file is not UTF-8'],
    ['big.md', 'big.md: the file is larger than 1 MiB'],
    ['', 'the goal: the text is empty'],
    ['a\0.md', 'the goal: the text contains a NUL byte'],
  ])('refused: %j', (argument, message) => {
    expect(problem(() => readGoal(argument, read))).toContain(message)
  })
})

it('any text is either a valid goal or an error with a message', () => {
  const piece = fc.constantFrom(
    '- [ ] a',
    '- [x] b',
    '\n',
    '  ',
    '\t',
    '- paths: src',
    '- run: x',
    '- after: 1',
    '- after: 2',
    '```',
    '# h',
    '* ',
    'text',
    '- [ ] c, d',
    ':',
    '[]',
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(piece, { maxLength: 30 }).map((parts) => parts.join('')),
        fc.string(),
      ),
      (text) => {
        const message = problem(() => {
          const { tasks } = goalFromChecklist('t.md', text)
          const ids = new Set(tasks.map(({ id }) => id))
          expect(ids.size).toBe(tasks.length)
          expect(tasks.length).toBeGreaterThan(0)
          expect(tasks.flatMap(({ after }) => after).filter((id) => !ids.has(id))).toEqual([])
        })
        expect(message).not.toBe('')
      },
    ),
    { numRuns: samples(2000) },
  )
})

describe('the kind of a task', () => {
  const kinds = (more: object, ...tasks: object[]) =>
    goalFromTaskFile(
      'tasks.json',
      JSON.stringify({
        ...{ version: 1, goal: 'G', ...more },
        tasks: tasks.map((task, index) => ({ title: `T${index}`, instructions: 'i', ...task })),
      }),
    ).tasks.map(({ kind }) => kind)

  it('is written in the task, or follows from the strategy of the file', () => {
    expect(kinds({}, {}, { kind: 'loop' })).toEqual([undefined, 'loop'])
    expect(kinds({ strategy: 'loop' }, {}, { kind: 'code' })).toEqual(['loop', 'code'])
    expect(kinds({ strategy: 'tasks' }, {})).toEqual([undefined])
  })

  it('other words are refused', () => {
    expect(problem(() => kinds({ strategy: 'loops' }, {}))).toContain('strategy is "loops"; allowed: "tasks", "loop"')
    expect(problem(() => kinds({}, { kind: 'Loop' }))).toContain('tasks[0].kind is "Loop"; allowed: "code", "loop"')
  })
})
