/** What an agent does to the owner's own checkout, by its path, is seen: put back where it is provably the agent's, told or asked otherwise. */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { EventView, StatusView } from '../../src/api/contract.ts'
import { openScene, type Scene } from '../recovery/scene.ts'
import { isLongForm, shortened } from '../support/form.ts'

/** The agent does its work, and `does` in the owner's checkout. */
const agent = (does: string) => ({
  driver: 'command' as const,
  program: `const { execFileSync } = await import('node:child_process')
const git = (...args) => execFileSync('git', ['-C', 'TOP/repo', ...args], { stdio: 'ignore' })
const commit = (name, text) => git('-c', 'user.name=' + name, '-c', 'user.email=' + name + '@' + name, 'commit', '--allow-empty', '-qm', text)
const until = async (path) => { while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 20)) }
${does}
put('made.txt', 'made')`,
})

let scene: Scene
afterEach(async () => scene?.clear())

const open = async (does: string, more: Record<string, string> = {}): Promise<void> => {
  const others = Object.fromEntries(Object.entries(more).map(([name, text]) => [name, agent(text)]))
  scene = await openScene({ first: agent(does), ...others })
}

const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
    cwd: scene.root,
    encoding: 'utf8',
  }).trim()

const runs = async (): Promise<string> => {
  const goal = await scene.goal([{ harness: 'first' }])
  await scene.until(goal, 'ready')
  return goal
}

interface Change {
  part: string
  name: string
  how: string
  by: string
  run: string | null
  dangerous: boolean
}
const questioned = ({ choices }: StatusView['escalations'][number]): string[] =>
  choices
    .flatMap((choice) => (choice.kind === 'restore' ? choice.changes : []))
    .map(({ part, name }) => `${part} ${name}`)

const changesOf = (events: EventView[]): Change[] => events.flatMap(({ payload }) => payload.changes as Change[])

test.each(
  shortened(
    [
      ['its own name', 'agent'],
      ["the owner's name", 't'],
    ],
    1,
  ),
)('a commit of an agent on the branch of the owner, with %s, is taken off it and kept', async (_how, name) => {
  await open(
    `writeFileSync('TOP/repo/check.js', 'process.exit(0) // by the agent'); git('add', 'check.js'); commit('${name}', 'Sneaked in')`,
  )
  writeFileSync(join(scene.root, 'package.json'), '{"scripts":{},"edited":"by the owner"}')
  const main = git('rev-parse', 'main')
  const goal = await runs()
  const [moved] = await scene.events(goal, 'ref.moved')
  const [ref] = (moved?.payload.refs ?? []) as { after: string; kept: string }[]
  expect(moved?.payload).toMatchObject({
    more: 0,
    refs: [{ ref: 'refs/heads/main', before: main, by: 'agent', run: moved?.runId, restored: true }],
  })
  expect(git('rev-parse', 'main')).toBe(main)
  expect(git('rev-parse', ref?.kept ?? '')).toBe(ref?.after)
  expect(await scene.events(goal, 'ref.restored')).toHaveLength(1)
  // What the commit did to the files is undone with it, and the owner's own edit is as it was.
  expect(readFileSync(join(scene.root, 'package.json'), 'utf8')).toBe('{"scripts":{},"edited":"by the owner"}')
  expect(git('status', '--porcelain', '--untracked-files=no')).toBe('M package.json')
  expect(await scene.questions()).toEqual([])
  const { notices } = await scene.get<StatusView>('/status')
  expect(notices.join('\n')).toContain(`git log ${ref?.kept}`)
})

test("the owner's uncommitted work that an agent committed stays in the files, byte for byte", async () => {
  await open(`git('add', '-A'); commit('agent', 'Everything')`)
  writeFileSync(join(scene.root, 'package.json'), '{"mine":1}')
  writeFileSync(join(scene.root, 'untracked.txt'), 'mine')
  const main = git('rev-parse', 'main')
  const goal = await runs()
  expect(git('rev-parse', 'main')).toBe(main)
  expect(readFileSync(join(scene.root, 'package.json'), 'utf8')).toBe('{"mine":1}')
  expect(readFileSync(join(scene.root, 'untracked.txt'), 'utf8')).toBe('mine')
  expect((await scene.events(goal, 'ref.moved'))[0]?.payload).toMatchObject({ refs: [{ restored: true }] })
})

test.runIf(isLongForm)('a branch that goals land on is restored also behind 25 new branches', async () => {
  await open(`for (let n = 0; n < 25; n++) git('branch', 'a' + n); commit('agent', 'Sneaked in')`)
  const main = git('rev-parse', 'main')
  const goal = await runs()
  expect(git('rev-parse', 'main')).toBe(main)
  const [moved] = await scene.events(goal, 'ref.moved')
  expect(moved?.payload).toMatchObject({ more: 6 })
  expect(((moved?.payload.refs ?? []) as unknown[])[0]).toMatchObject({ ref: 'refs/heads/main', restored: true })
})

test.runIf(isLongForm)(
  'changed configuration, a hook, staged, edited and stashed files are told, with those that start programs first',
  async () => {
    await open(`const edit = (path, text) => { put('TOP/repo/' + path, text) }
git('config', 'core.hooksPath', 'elsewhere')
edit('.git/hooks/pre-commit', 'exit 0')
edit('check.js', 'stashed'); git('-c', 'user.name=a', '-c', 'user.email=a@a', 'stash')
edit('package.json', '{"staged":1}'); git('add', 'package.json'); edit('check.js', 'edited')`)
    const goal = await runs()
    const changes = changesOf(await scene.events(goal, 'checkout.changed'))
    expect(changes.map(({ part, name, how, dangerous }) => [part, name, how, dangerous])).toEqual([
      ['config', 'core.hookspath', 'added', true],
      ['hook', 'pre-commit', 'added', true],
      ['index', 'package.json', 'added', false],
      ['file', 'check.js', 'added', false],
    ])
    expect(changes.map(({ by }) => by)).toEqual(['agent', 'unknown', 'agent', 'agent'])
    const [moved] = await scene.events(goal, 'ref.moved')
    expect(moved?.payload).toMatchObject({ refs: [{ ref: 'refs/stash', before: null, by: 'agent', restored: false }] })
    const { notices } = await scene.get<StatusView>('/status')
    expect(notices.join('\n')).toContain('git config --local --unset-all core.hookspath')
    // Only the hook, which no git command wrote, may be the owner's.
    expect((await scene.questions()).map(questioned)).toEqual([['hook pre-commit']])
  },
)

const waits = `put('TOP/working', ''); await until('TOP/go')`

test.runIf(isLongForm)(
  'what the owner does meanwhile stays and is no question; the lock of the index is never taken',
  async () => {
    await open(waits)
    const goal = await scene.goal([{ harness: 'first' }])
    await scene.waitFor('the agent works', async () => existsSync(join(scene.top, 'working')) || undefined)
    git('commit', '--allow-empty', '-qm', 'Mine')
    const mine = git('rev-parse', 'main')
    writeFileSync(join(scene.root, 'check.js'), `${readFileSync(join(scene.root, 'check.js'), 'utf8')}// mine`)
    const lock = join(scene.root, '.git', 'index.lock')
    writeFileSync(lock, 'of the owner')
    chmodSync(lock, 0o400)
    writeFileSync(join(scene.top, 'go'), '')
    await scene.until(goal, 'ready')
    expect(git('rev-parse', 'main')).toBe(mine)
    expect(readFileSync(lock, 'utf8')).toBe('of the owner')
    expect(await scene.events(goal, 'ref.moved')).toEqual([])
    const changes = changesOf(await scene.events(goal, 'checkout.changed'))
    expect(changes.map(({ part, name, by }) => [part, name, by])).toEqual([
      ['ref', 'refs/heads/main', 'unknown'],
      ['file', 'check.js', 'unknown'],
    ])
    expect(await scene.questions()).toEqual([])
  },
)

test.runIf(isLongForm)("the owner's commit on top of an agent's is never moved", async () => {
  await open(`commit('agent', 'Sneaked in'); ${waits}`)
  const goal = await scene.goal([{ harness: 'first' }])
  await scene.waitFor('the agent works', async () => existsSync(join(scene.top, 'working')) || undefined)
  // Git's logs have whole seconds.
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  git('commit', '--allow-empty', '-qm', 'Mine')
  const mine = git('rev-parse', 'main')
  writeFileSync(join(scene.top, 'go'), '')
  await scene.until(goal, 'ready')
  expect(git('rev-parse', 'main')).toBe(mine)
  const [moved] = await scene.events(goal, 'ref.moved')
  expect(moved?.payload).toMatchObject({ refs: [{ ref: 'refs/heads/main', by: 'agent', restored: false }] })
})

test('an engine that was away between start and end of the run still sees it', async () => {
  await open(`${waits}; commit('agent', 'Sneaked in')`)
  const main = git('rev-parse', 'main')
  const goal = await scene.goal([{ harness: 'first' }])
  await scene.waitFor('the agent works', async () => existsSync(join(scene.top, 'working')) || undefined)
  await scene.restart(() => writeFileSync(join(scene.top, 'go'), ''))
  await scene.until(goal, 'ready')
  expect(git('rev-parse', 'main')).toBe(main)
  expect((await scene.events(goal, 'ref.moved'))[0]?.payload).toMatchObject({ refs: [{ by: 'agent', restored: true }] })
})

test.runIf(isLongForm)('of two runs at once, the one that did it is named, also by the other', async () => {
  await open(`put('TOP/one', ''); await until('TOP/two-done')`, {
    second: `await until('TOP/one'); put('TOP/two', ''); commit('t', 'Sneaked in'); put('TOP/did', ''); await until('TOP/one-over')`,
  })
  const main = git('rev-parse', 'main')
  const [one, two] = [await scene.goal([{ harness: 'first' }]), await scene.goal([{ harness: 'second' }])]
  await scene.waitFor('the second did it', async () => existsSync(join(scene.top, 'did')) || undefined)
  writeFileSync(join(scene.top, 'two-done'), '')
  await scene.until(one, 'ready')
  writeFileSync(join(scene.top, 'one-over'), '')
  await scene.until(two, 'ready')
  const [run] = await scene.runs(two)
  const moved = [...(await scene.events(one, 'ref.moved')), ...(await scene.events(two, 'ref.moved'))]
  expect(moved.map(({ payload }) => payload)).toMatchObject([{ refs: [{ by: 'agent', run: run?.id, restored: true }] }])
  expect(git('rev-parse', 'main')).toBe(main)
})
