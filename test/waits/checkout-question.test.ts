/** What changed in the owner's checkout while agents ran, by nobody knows whom, is one question, and its answer keeps or restores it. */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { StatusView } from '../../src/api/contract.ts'
import { openScene, type Scene, type SceneOptions } from '../recovery/scene.ts'

/** Git of the agent in the owner's checkout, hidden from git's trace, so that nothing proves whose it is. */
const agent = (does: string) => ({
  driver: 'command' as const,
  program: `const { execFileSync } = await import('node:child_process')
const { GIT_TRACE2_EVENT, ...env } = process.env
const git = (...args) => execFileSync('git', ['-C', 'TOP/repo', '-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { stdio: 'ignore', env })
const until = async (path) => { while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 20)) }
${does}
put('made.txt', 'made')`,
})

let scene: Scene
afterEach(async () => scene?.clear())

const open = async (agents: Record<string, string>, options: SceneOptions = {}): Promise<void> => {
  const named = Object.entries(agents).map(([name, does]) => [name, agent(does)])
  scene = await openScene(Object.fromEntries(named), {}, options)
}

const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
    cwd: scene.root,
    encoding: 'utf8',
  }).trim()

const run = async (harness: string, options = {}): Promise<string> => {
  const goal = await scene.goal([{ harness }], options)
  await scene.until(goal, 'ready', 'done')
  return goal
}

type Question = StatusView['escalations'][number]

const asked = async (): Promise<Question> => {
  const questions = await scene.questions()
  expect(questions.map(({ kind }) => kind)).toEqual(['checkout_changed'])
  return questions[0] as Question
}

const changesOf = ({ choices }: Question) =>
  choices.flatMap((choice) => (choice.kind === 'restore' ? choice.changes : []))

const answer = (question: Question, choice: string): Promise<unknown> =>
  scene.post(`/escalations/${question.id}/answer`, { choice })

const file = (path: string): string => readFileSync(join(scene.root, path), 'utf8')

/** As a person commits. */
const commits = `writeFileSync('TOP/repo/check.js', 'process.exit(0)'); git('add', 'check.js'); git('commit', '-qm', 'Mine?')`
/** The same commit, put on the branch as no person does it in a checkout. */
const sneaks = `writeFileSync('TOP/repo/check.js', 'process.exit(0)'); git('add', 'check.js')
const ask = (...args) => execFileSync('git', ['-C', 'TOP/repo', '-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { env, encoding: 'utf8' }).trim()
git('update-ref', 'refs/heads/main', ask('commit-tree', '-p', 'main', '-m', 'Sneaked in', ask('write-tree')))`
const poisons = `writeFileSync('TOP/repo/.git/hooks/pre-commit', 'exit 0', { mode: 0o755 }); git('config', 'core.fsmonitor', 'evil'); git('config', 'user.name', 'x')`

test('changes of two runs are one question; restoring puts back commit, files, index, hook and configuration, and loses nothing', async () => {
  await open({ first: sneaks, second: poisons, third: '' })
  writeFileSync(join(scene.root, 'package.json'), '{"scripts":{},"edited":"by the owner"}')
  const main = git('rev-parse', 'main')
  const config = file('.git/config')
  await run('first')
  const sneaked = git('rev-parse', 'main')
  expect(sneaked).not.toBe(main)
  const before = await asked()
  expect(before.choices.map(({ id }) => id)).toEqual(['keep', 'restore'])
  expect(changesOf(before)).toEqual([
    { part: 'ref', name: 'refs/heads/main', before: main, after: sneaked, alike: false },
  ])
  await run('second')
  const question = await asked()
  expect(question.id).toBe(before.id)
  expect(
    changesOf(question)
      .map(({ part, name }) => `${part} ${name}`)
      .sort(),
  ).toEqual(['config core.fsmonitor', 'config user.name', 'hook pre-commit', 'ref refs/heads/main'])
  for (const named of [main.slice(0, 12), sneaked.slice(0, 12), 'pre-commit', 'core.fsmonitor', 'evil'])
    expect(question.details).toContain(named)
  // Other work goes on, and what is there already is no news.
  await run('third')
  expect((await asked()).version).toBe(question.version)
  await answer(question, 'restore')
  expect(await scene.questions()).toEqual([])
  expect(git('rev-parse', 'main')).toBe(main)
  expect(git('rev-parse', `refs/unstuck/kept/${question.id}/${sneaked.slice(0, 12)}`)).toBe(sneaked)
  expect([file('.git/config'), existsSync(join(scene.root, '.git/hooks/pre-commit'))]).toEqual([config, false])
  expect(git('status', '--porcelain', '--untracked-files=no')).toBe('M package.json')
  expect(file('package.json')).toBe('{"scripts":{},"edited":"by the owner"}')
  const held = join(scene.top, 'home')
  const copies = readdirSync(held, { recursive: true, encoding: 'utf8' }).filter((path) => path.includes(question.id))
  expect(copies.some((path) => path.includes('replaced/hook-'))).toBe(true)
  await run('third')
  expect(await scene.questions()).toEqual([])
})

test('staged and edited files of a question get the content from before, byte for byte', async () => {
  await open({
    first: `writeFileSync('TOP/repo/package.json', 'by the agent'); writeFileSync('TOP/repo/check.js', '')
writeFileSync('TOP/repo/.git/hooks/pre-commit', 'exit 0')
git('read-tree', 'HEAD')`,
  })
  writeFileSync(join(scene.root, 'package.json'), '{"scripts":{},"mine":1}')
  git('add', 'package.json')
  writeFileSync(join(scene.root, 'package.json'), '{"scripts":{},"mine":2}')
  const [staged, check] = [git('ls-files', '--stage'), file('check.js')]
  await run('first')
  expect(git('ls-files', '--stage')).not.toBe(staged)
  await answer(await asked(), 'restore')
  expect([git('ls-files', '--stage'), file('package.json'), file('check.js')]).toEqual([
    staged,
    '{"scripts":{},"mine":2}',
    check,
  ])
})

const waits = `put('TOP/working', ''); await until('TOP/go')`

test('what the owner keeps is not asked again, also after a run that began before', async () => {
  await open({ first: sneaks, long: waits })
  const long = await scene.goal([{ harness: 'long' }])
  await scene.waitFor('the agent works', async () => existsSync(join(scene.top, 'working')) || undefined)
  await run('first')
  const main = git('rev-parse', 'main')
  await answer(await asked(), 'keep')
  writeFileSync(join(scene.top, 'go'), '')
  await scene.until(long, 'ready')
  expect([await scene.questions(), git('rev-parse', 'main')]).toEqual([[], main])
  expect((await scene.events(long, 'checkout.changed')).length).toBe(0)
})

test('what changed after the question is left, with everything else, and named', async () => {
  await open({ first: `${sneaks}; ${poisons}` })
  await run('first')
  const question = await asked()
  git('commit', '--allow-empty', '-qm', 'Mine')
  const mine = git('rev-parse', 'main')
  await expect(answer(question, 'restore')).rejects.toThrow('refs/heads/main')
  expect([git('rev-parse', 'main'), existsSync(join(scene.root, '.git/hooks/pre-commit'))]).toEqual([mine, true])
  expect((await asked()).id).toBe(question.id)
  await answer(question, 'keep')
  expect(await scene.questions()).toEqual([])
})

test('what is undone by hand needs no answer any more', async () => {
  await open({ first: sneaks, third: waits })
  const main = git('rev-parse', 'main')
  await run('first')
  await asked()
  const goal = await scene.goal([{ harness: 'third' }])
  await scene.waitFor('the agent works', async () => existsSync(join(scene.top, 'working')) || undefined)
  git('reset', '-q', '--hard', main)
  writeFileSync(join(scene.top, 'go'), '')
  await scene.until(goal, 'ready')
  expect(await scene.questions()).toEqual([])
})

test('an ordered landing on a branch in question is refused, and lands without the commit that was taken off', async () => {
  await open({ first: sneaks, third: '' })
  const main = git('rev-parse', 'main')
  await run('first')
  const sneaked = git('rev-parse', 'main')
  const goal = await run('third')
  const question = await asked()
  const land = () => scene.post(`/goals/${goal}/land`)
  await land()
  const refused = await scene.waitFor('it is refused', async () => (await scene.events(goal, 'goal.not_landed'))[0])
  expect(refused.payload).toMatchObject({ reason: 'in-question' })
  expect((await scene.until(goal, 'ready')).reason).toContain(`unstuck answer ${question.id}`)
  expect(git('rev-parse', 'main')).toBe(sneaked)
  await answer(question, 'restore')
  await land()
  await scene.until(goal, 'done')
  expect(git('rev-list', 'main')).not.toContain(sneaked)
  expect(git('rev-list', 'main')).toContain(main)
  expect(git('show', 'main:made.txt')).toBe('made')
})

test('an automatic landing waits where no person moves a branch like that', async () => {
  await open({ first: sneaks, third: '' })
  await run('first')
  const appeared = git('rev-parse', 'main')
  const question = await asked()
  const goal = await scene.goal([{ harness: 'third' }], { autoMerge: true })
  await scene.waitFor('the landing waits', async () => (await scene.events(goal, 'goal.not_landed'))[0])
  expect(git('rev-parse', 'main')).toBe(appeared)
  await answer(question, 'keep')
  await scene.until(goal, 'done')
  expect(git('rev-list', 'main')).toContain(appeared)
})

test('what looks like a commit of the owner is told and no question, and work lands over it', async () => {
  await open({ first: commits, third: '' })
  const first = await run('first')
  const appeared = git('rev-parse', 'main')
  expect(await scene.questions()).toEqual([])
  expect((await scene.events(first, 'checkout.changed')).length).toBe(1)
  const goal = await scene.goal([{ harness: 'third' }], { autoMerge: true })
  await scene.until(goal, 'done')
  expect(git('rev-list', 'main')).toContain(appeared)
})

test('edits, new branches and a switch of the owner are told, and no question', async () => {
  await open({ long: waits })
  const goal = await scene.goal([{ harness: 'long' }])
  await scene.waitFor('the agent works', async () => existsSync(join(scene.top, 'working')) || undefined)
  git('branch', 'old')
  git('branch', '-D', 'old')
  git('checkout', '-q', '-b', 'mine')
  writeFileSync(join(scene.root, 'check.js'), `${file('check.js')}// mine`)
  mkdirSync(join(scene.root, '.git/refs/remotes/origin'), { recursive: true })
  git('update-ref', 'refs/remotes/origin/main', 'main')
  chmodSync(join(scene.root, 'check.js'), 0o755)
  writeFileSync(join(scene.top, 'go'), '')
  await scene.until(goal, 'ready')
  expect(await scene.questions()).toEqual([])
  expect((await scene.events(goal, 'checkout.changed')).length).toBe(1)
})

test('the notes of a run go when no run that was alive with it is left', async () => {
  await open({ first: `execFileSync('git', ['-C', 'TOP/repo', 'status'])`, long: waits })
  writeFileSync(join(scene.root, 'check.js'), `${file('check.js')}// mine`)
  const notes = (): string[] =>
    readdirSync(join(scene.top, 'home'), { recursive: true, encoding: 'utf8' })
      .flatMap((path) => /runs\/([^/]+)\/(?:git-trace|checkout)$/.exec(path)?.[1] ?? [])
      .toSorted((a, b) => (a < b ? -1 : 1))
  const long = await scene.goal([{ harness: 'long' }])
  await scene.waitFor('the agent works', async () => existsSync(join(scene.top, 'working')) || undefined)
  const [ended] = await scene.runs(await run('first'))
  const [alive] = await scene.runs(long)
  const both = [ended?.id ?? '', alive?.id ?? ''].toSorted((a, b) => (a < b ? -1 : 1)).flatMap((id) => [id, id])
  expect(notes()).toEqual(both)
  writeFileSync(join(scene.top, 'go'), '')
  await scene.until(long, 'ready')
  await scene.waitFor('the notes are gone', async () => notes().length === 0 || undefined)
})
