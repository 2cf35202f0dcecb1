/** The seventeen faults, each with its environment and the right result. */
import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ScriptedChange, Job } from './job.ts'
import { addDependency, flakyTest, gitIn, writeFiles, testFile, changeSlug } from './project.ts'

export interface FaultEnvironment {
  /** The user's checkout. */
  project: string
  /** Outside the project: the memory of the agent and of the flaky test. */
  memory: string
}

export interface BenchTask {
  title: string
  paths: string
  run: string
}

export interface FaultCase {
  name: string
  tasks: BenchTask[]
  jobs: Job[]
  /** `question`: the work cannot be done, so one question must be asked and main must not change. */
  wanted: 'done' | 'question'
  /** Inputs of `slug` and the outputs that main must give. */
  expected: Record<string, string>
  /** Files that the work may change on main. */
  files: string[]
  /** Runs before the base commit. */
  prepare?: (scene: FaultEnvironment) => void
  /** Runs after the base commit, to break the checkout. */
  spoil?: (scene: FaultEnvironment) => void
  /** What the user commits while the agent works. */
  meanwhile?: (scene: FaultEnvironment) => void
}

const trimTitle = 'Let slug trim the spaces around its text'
const trimTest = { path: 'test/trim.test.mjs', after: testFile('slug trims the spaces around', '  a b ', 'a-b') }
const trimRight: ScriptedChange[] = [changeSlug('.trim()'), trimTest]
const trimWrong: ScriptedChange[] = [changeSlug('.trimStart()'), trimTest]

const trimTask: BenchTask = { title: trimTitle, paths: 'src/**, test/**', run: 'npm test' }
const trimJob: Job = { match: trimTitle, fault: 'none', right: trimRight }

const accentsTitle = 'Let slug drop accents'
const accentsTest = { path: 'test/accents.test.mjs', after: testFile('slug drops accents', 'É', 'e') }
const accentsJob: Job = {
  match: accentsTitle,
  fault: 'none',
  right: [changeSlug(String.raw`.normalize('NFD').replaceAll(/\p{M}/gu, '')`), accentsTest],
}

const trimmed = { '  A b ': 'a-b' }
const trimFiles = ['src/slug.mjs', 'test/trim.test.mjs']

type Differing = Partial<Omit<FaultCase, 'name'>> & { job?: Partial<Job> }

const faultCase = (name: string, { job = {}, ...rest }: Differing = {}): FaultCase => ({
  ...{ name, tasks: [trimTask], jobs: [{ ...trimJob, ...job }] },
  ...{ wanted: 'done' as const, expected: trimmed, files: trimFiles },
  ...rest,
})

const asked = { wanted: 'question' as const, expected: {}, files: [] }

const commitByUser = ({ project }: FaultEnvironment): void => {
  appendFileSync(join(project, 'docs', 'notes.md'), '\nA thought of the user.\n')
  gitIn(project, 'add', 'docs/notes.md')
  gitIn(project, 'commit', '-q', '-m', 'Note a thought')
}

/** Breaks a test and deletes it. */
const noLowerCase = { path: 'src/slug.mjs', after: "export const slug = (text) => text.trim().replaceAll(' ', '-')\n" }

export const faultCases: readonly FaultCase[] = [
  faultCase('happy'),
  faultCase('crash once', { job: { fault: 'crash once' } }),
  faultCase('crash always', { ...asked, job: { fault: 'crash always' } }),
  faultCase('529', { job: { fault: 'overload', seconds: 5 } }),
  faultCase('limit', { job: { fault: 'limit', seconds: 25 } }),
  faultCase('hang', { job: { fault: 'hang once' } }),
  faultCase('wrong first, right when told', {
    job: { fault: 'wrong first', wrong: trimWrong, told: 'slug trims the spaces around' },
  }),
  faultCase('file outside', { job: { fault: 'stray file', file: 'scratch.md', told: 'scratch.md' } }),
  faultCase('corrupted packages', {
    prepare: ({ project }) => addDependency(project),
    spoil: ({ project }) => rmSync(join(project, 'node_modules', 'dashes', 'index.js')),
  }),
  faultCase('misspelt check', { tasks: [{ ...trimTask, run: 'npm run tset' }] }),
  faultCase('nothing done', { job: { fault: 'nothing once' } }),
  faultCase('red for ever', { ...asked, job: { fault: 'never right', wrong: trimWrong } }),
  faultCase('flaky', {
    prepare: ({ project, memory }) =>
      writeFiles(project, { 'test/clock.test.mjs': flakyTest(join(memory, 'flaky-count')) }),
  }),
  faultCase('two tasks on one line', {
    tasks: [trimTask, { ...trimTask, title: accentsTitle }],
    jobs: [trimJob, accentsJob],
    expected: { ...trimmed, ' Élan ': 'elan' },
    files: [...trimFiles, 'test/accents.test.mjs'],
  }),
  faultCase('deletes the failing test', {
    ...asked,
    job: { fault: 'deletes the test', file: 'test/case.test.mjs', wrong: [noLowerCase, trimTest] },
  }),
  faultCase('leaves a process', { job: { fault: 'leaves processes' } }),
  faultCase('user commits meanwhile', { job: { fault: 'waits for the user' }, meanwhile: commitByUser }),
]
