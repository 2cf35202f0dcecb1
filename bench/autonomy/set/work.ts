/** The tasks of the set. The seed chooses one, so that faults do not all meet the same line. */
import type { ScriptedChange } from '../job.ts'
import { changeSlug, testFile } from '../project.ts'
import type { Act, Play, SetScene, SetTask, Turn } from './entry.ts'

export interface Work {
  title: string
  /** Title of the test that comes with the work, as a failing check reports it. */
  test: string
  right: ScriptedChange[]
  wrong: ScriptedChange[]
  expected: Record<string, string>
  files: string[]
}

interface WorkText {
  name: string
  title: string
  test: string
  right: string
  wrong: string
  given: string
  made: string
  /** A further input, which the agent's own test does not have. */
  other: Record<string, string>
}

const workOf = ({ name, title, test, right, wrong, given, made, other }: WorkText): Work => {
  const path = `test/${name}.test.mjs`
  const added = { path, after: testFile(test, given, made) }
  return {
    ...{ title, test, expected: other, files: ['src/slug.mjs', path] },
    right: [changeSlug(right), added],
    wrong: [changeSlug(wrong), added],
  }
}

export const works: readonly Work[] = [
  workOf({
    ...{ name: 'trim', title: 'Let slug trim the spaces around its text', test: 'slug trims the spaces around' },
    ...{ right: '.trim()', wrong: '.trimStart()', given: '  a b ', made: 'a-b', other: { '  A c ': 'a-c' } },
  }),
  workOf({
    ...{ name: 'accents', title: 'Let slug drop accents', test: 'slug drops the accents of letters' },
    ...{ right: String.raw`.normalize('NFD').replaceAll(/\p{M}/gu, '')`, wrong: String.raw`.normalize('NFD')` },
    ...{ given: 'É', made: 'e', other: { 'Élan vital': 'elan-vital' } },
  }),
  workOf({
    ...{ name: 'stops', title: 'Let slug drop full stops', test: 'slug drops every full stop' },
    ...{ right: ".replaceAll('.', '')", wrong: ".replace('.', '')", given: 'a.b.c', made: 'abc' },
    other: { 'X. Y. Z.': 'x-y-z' },
  }),
  workOf({
    ...{ name: 'underscores', title: 'Let slug join words at underscores', test: 'slug joins at every underscore' },
    ...{ right: ".replaceAll('_', ' ')", wrong: ".replace('_', ' ')", given: 'a_b_c', made: 'a-b-c' },
    other: { 'One_Two Three_Four': 'one-two-three-four' },
  }),
]

export const workFor = (seed: number): Work => works[seed % works.length] ?? (works[0] as Work)

/** One of the values, by the seed; the next digit of the seed is used, so that it does not follow the choice of the work. */
export const pick = <T>(seed: number, values: readonly [T, ...T[]]): T =>
  values[Math.floor(seed / works.length) % values.length] ?? values[0]

export const taskOf = (work: Work, differing: Partial<SetTask> = {}): SetTask => ({
  ...{ title: work.title, allowedPaths: ['src/**', 'test/**'], commands: ['npm test'] },
  ...differing,
})

export const playOf = (work: Work, turns: Turn[], differing: Partial<Play> = {}): Play => ({
  ...{ match: work.title, right: work.right, wrong: work.wrong, turns },
  ...differing,
})

type Differing = Partial<Omit<SetScene, 'tasks' | 'plays' | 'files'>> & {
  task?: Partial<SetTask>
  play?: Partial<Play>
  /** Paths on main beside those of the work. */
  also?: string[]
}

/** One task of the seed with these turns of its agent. Without a condition the last turn does the right work. */
export const single = (seed: number, turns: Turn[], { task, play, also = [], ...rest }: Differing = {}): SetScene => {
  const work = workFor(seed)
  return {
    ...{ tasks: [taskOf(work, task)], plays: [playOf(work, [...turns, { acts: ['right'] }], play)] },
    ...{ cli: 'claude' as const, expected: work.expected, files: [...work.files, ...also] },
    ...rest,
  }
}

/** The right work beside something that the agent takes back when its prompt names it. */
export const untilTold = (named: string, acts: Act[], undo: Act[]): Turn[] => [
  { when: { untold: named }, acts: ['right', ...acts] },
  { acts: [...undo, 'right'] },
]

/** The right work with something beside it at every launch. */
export const always = (acts: Act[]): Turn[] => [{ acts: ['right', ...acts] }]
