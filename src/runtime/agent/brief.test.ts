import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { briefLimit, buildBrief, cutWithNote, itemsWithin, linesWithin, type BriefInput } from './brief.ts'

const input = (
  { allowedPaths = ['src/**'], deniedPaths = [], ...task }: Partial<BriefInput['task']> = {},
  more: Partial<BriefInput> = {},
): BriefInput => ({
  ...{ allowedPaths, deniedPaths },
  goal: { requirement: 'the requirement' } as BriefInput['goal'],
  task: {
    ...{
      title: 'The title',
      instructions: 'The instructions',
      commands: ['npm test'],
      hint: null,
    },
    ...task,
  } as BriefInput['task'],
  roleText: 'role',
  hostLines: ['host'],
  lateFailures: [],
  failures: [],
  runDir: '/run',
  ...more,
})

describe('cut', () => {
  test('leaves what fits as it is, and never exceeds the limit', () => {
    expect(cutWithNote('x'.repeat(100), 100)).toBe('x'.repeat(100))
    for (const length of [101, 150, 1_000, 100_000])
      expect(cutWithNote('x'.repeat(length), 100).length).toBeLessThanOrEqual(100)
  })
  test('says exactly how much is missing', () => {
    const text = cutWithNote('x'.repeat(1_000), 100)
    const missing = Number(/\[(\d+) characters left out\]$/.exec(text)?.[1])
    expect(text.indexOf('\n') + missing).toBe(1_000)
  })
})

describe('lines within a limit', () => {
  test('are whole, and name what has no room', () => {
    const lines = ['os: linux', `ports: ${'4'.repeat(30)}`, `shell: ${'s'.repeat(30)}`, 'cpu: two']
    expect(linesWithin(lines, 200)).toBe(lines.join('\n'))
    expect(linesWithin(lines, 50)).toBe(`os: linux\nports: ${'4'.repeat(8)}…\n[left out: shell, cpu]`)
  })
  test('one long line first empties nothing', () => {
    const text = linesWithin(['x'.repeat(5_000), 'cpu: two', 'shell: bash'], 350)
    expect(text).toMatch(/^x{100,}…\ncpu: two\nshell: bash$/)
    expect(linesWithin(['x'.repeat(5_000)], 350)).toMatch(/^x{349}…$/)
  })
  test('never take more than that', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ maxLength: 200 }), { maxLength: 12 }),
        fc.integer({ min: 60, max: 600 }),
        (lines, limit) => {
          expect(linesWithin(lines, limit).length).toBeLessThanOrEqual(limit)
        },
      ),
    )
  })
})

describe('the brief', () => {
  test('holds task, rules, checks and the scratch folder', () => {
    const text = buildBrief(input({ deniedPaths: ['docs/**'] }))
    expect(text).toContain('## Task: The title\nThe instructions')
    expect(text).toContain('Change only: src/**')
    expect(text).toContain('Never change: docs/**')
    expect(text).toContain('Changes of other files are not accepted')
    expect(buildBrief(input({ allowedPaths: ['**'] }))).not.toContain('Changes of other files')
    expect(text).toContain('- npm test')
    expect(text).toContain('/run')
  })
  test('says where the checks run, but in the owner’s own folder, where they run in what is there', () => {
    expect(buildBrief(input())).toContain('a clean checkout of your changes')
    const direct = { requirement: 'r', repoMode: 'direct' } as BriefInput['goal']
    expect(buildBrief(input({}, { goal: direct }))).not.toContain('clean checkout')
    expect(buildBrief(input({ commands: [] }))).not.toContain('clean checkout')
  })
  test('has no empty part, and takes the requirement where a task says nothing', () => {
    const text = buildBrief(input({ instructions: '', commands: [] }, { hostLines: [] }))
    expect(text).not.toContain('## This machine')
    expect(text).not.toContain('## Earlier attempts')
    expect(text).not.toContain('decide whether')
    expect(text).not.toContain('A person says')
    expect(text).toContain('the requirement')
  })
  test('stays within its budget and keeps every part when all of them are huge, and says each cut', () => {
    const huge = 'word '.repeat(50_000)
    const hint = 'h'.repeat(1_000)
    const text = buildBrief(
      input(
        { instructions: huge, allowedPaths: [huge], commands: [huge], hint },
        { roleText: huge, hostLines: [huge], lateFailures: [huge], failures: [huge] },
      ),
    )
    expect(text.length).toBeLessThanOrEqual(briefLimit)
    const titles = [
      'Your role',
      'This machine',
      'Failed on this machine lately',
      'Earlier attempts',
      'Task: The title',
      'Rules',
    ]
    for (const title of titles) expect(text).toContain(`## ${title}`)
    expect(text).toContain(`A person says: ${hint}\n`)
    expect(text.match(/characters left out\]/g)).toHaveLength(3)
    // Of lists, lines are left out, and a line is shortened.
    expect(text.match(/…$/gm)).toHaveLength(4)
  })
})

describe('many rules', () => {
  const paths = (name: string, count: number): string[] =>
    Array.from({ length: count }, (_, index) => `packages/${name}-${index}/src/**`)
  const rulesOf = (task: Partial<BriefInput['task']>): string => buildBrief(input(task)).split('## Rules\n')[1] ?? ''

  test.each([45, 500, 1_000])('%d allowed paths take the room of no other rule', (count) => {
    const rules = rulesOf({ allowedPaths: paths('area', count), deniedPaths: ['docs/**'], commands: ['npm test'] })
    for (const text of [
      'Never change: docs/**\n',
      '\n- npm test\n',
      'a clean checkout',
      '/run (also',
      'Changes of other',
    ])
      expect(rules).toContain(text)
    const [, shown = '', missing] = /^Change only: (.*), and (\d+) more$/m.exec(rules) ?? []
    expect(shown.split(', ').length + Number(missing)).toBe(count)
    expect(shown.length).toBeGreaterThan(400)
    expect(rules).not.toContain('left out')
    expect(`## Rules\n${rules}`.length).toBeLessThanOrEqual(1_400)
  })

  test('each list keeps room of its own, and says how much is missing', () => {
    const commands = Array.from({ length: 200 }, (_, index) => `npm run check-${index}`)
    const rules = rulesOf({ allowedPaths: paths('area', 300), deniedPaths: paths('private', 300), commands })
    expect(rules).toMatch(/decide whether the work is accepted:\n- npm run check-0\n[^]*\n- and \d+ more\n/)
    expect(rules).toMatch(/^Never change: packages\/private-0\/src\/\*\*, .*, and \d+ more$/m)
    expect(rules).toMatch(/^Change only: packages\/area-0\/src\/\*\*, .*, and \d+ more$/m)
    expect(rules).toContain('/run (also')
    expect(rules).not.toContain('left out')
  })

  test('items within a limit are whole and counted', () => {
    expect(itemsWithin(['aa', 'bb', 'cc'], ', ', 10)).toBe('aa, bb, cc')
    expect(itemsWithin(['aaaaaaaa', 'bbbbbbbb', 'cccccccc'], ', ', 22)).toBe('aaaaaaaa, and 2 more')
    expect(itemsWithin(['a'.repeat(50), 'bb'], ', ', 20)).toBe(`${'a'.repeat(7)}…, and 1 more`)
    expect(itemsWithin([], ', ', 20)).toBe('')
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1, maxLength: 60 }), { maxLength: 40 }),
        fc.integer({ min: 30, max: 400 }),
        (items, limit) => {
          expect(itemsWithin(items, ', ', limit).length).toBeLessThanOrEqual(limit)
        },
      ),
    )
  })
})

describe('long instructions of a role', () => {
  const own = 'y'.repeat(3_000)
  test('are whole where the task leaves room', () => {
    expect(buildBrief(input({}, { roleText: own, failures: ['a'.repeat(6_000)] }))).toContain(own)
  })
  test('do not take the room of the earlier attempts', () => {
    const long = 't'.repeat(5_900)
    const failure = 'a'.repeat(1_400)
    const text = buildBrief(input({ instructions: long }, { roleText: 'y'.repeat(9_000), failures: [failure] }))
    expect(text.length).toBeLessThanOrEqual(briefLimit)
    expect(text).toContain(failure)
    expect(text).toContain(long)
    expect(/y+/.exec(text)?.[0].length).toBeGreaterThan(2_500)
  })
})

describe('the brief of a turn of a loop', () => {
  const turn = (more: Partial<BriefInput> = {}): BriefInput =>
    input({}, { turnLines: ['This is iteration 2 of 20, tester.', 'left open'], ...more })

  test('holds the role, the turn and what it may write instead of the paths of the task', () => {
    const brief = buildBrief(turn({ writes: ['Write only your reports in /run.'] }))
    expect(brief).toContain('## Your turn\nThis is iteration 2 of 20, tester.\nleft open')
    expect(brief).toContain('## Rules\nWrite only your reports in /run.')
    expect(brief).not.toContain('Change only')
    expect(buildBrief(turn())).toContain('Change only: src/**')
  })

  test('gives the role room for its instructions, and keeps to the limit when everything is long', () => {
    const long = 'word '.repeat(5_000)
    expect(buildBrief(turn({ roleText: 'x'.repeat(3_400) }))).toContain('x'.repeat(3_400))
    const everything = { roleText: long, hostLines: [long], lateFailures: [long], failures: [long], turnLines: [long] }
    const brief = buildBrief(input({ instructions: long, hint: long }, everything))
    expect(brief.length).toBeLessThanOrEqual(briefLimit)
    for (const part of ['Your role', 'Earlier attempts', 'Hint', 'Your turn', 'Rules'])
      expect(brief).toContain(`## ${part}`)
  })
})
