import { describe, expect, test } from 'vitest'
import { briefLimit, buildBrief, cutWithNote, type BriefInput } from './brief.ts'

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
  hostText: 'host',
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
    const text = buildBrief(input({ instructions: '', commands: [] }, { hostText: ' ' }))
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
        { roleText: huge, hostText: huge, failures: [huge] },
      ),
    )
    expect(text.length).toBeLessThanOrEqual(briefLimit)
    for (const title of ['Your role', 'This machine', 'Earlier attempts', 'Task: The title', 'Rules'])
      expect(text).toContain(`## ${title}`)
    expect(text).toContain(`A person says: ${hint}\n`)
    expect(text.match(/characters left out\]/g)).toHaveLength(5)
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
    const everything = { roleText: long, hostText: long, failures: [long], turnLines: [long] }
    const brief = buildBrief(input({ instructions: long, hint: long }, everything))
    expect(brief.length).toBeLessThanOrEqual(briefLimit)
    for (const part of ['Your role', 'Earlier attempts', 'Hint', 'Your turn', 'Rules'])
      expect(brief).toContain(`## ${part}`)
  })
})
