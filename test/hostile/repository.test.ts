/** Repositories that try to start something on the machine of whoever lets Unstuck work in them. */
import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { attributes, makeHostile, makeRepository, user } from '../workspace/scene.ts'
import { openScene, until, type Scene } from './scene.ts'
import { isLongForm } from '../support/form.ts'

let scene: Scene
afterEach(async () => scene.clear())

const fakePrograms = (root: string, program: string): void => {
  const bin = join(root, 'node_modules', '.bin')
  mkdirSync(bin, { recursive: true })
  for (const name of ['git', 'node', 'sh', 'claude', 'codex']) {
    writeFileSync(join(bin, name), `#!/bin/sh\nexec '${program}' "$0"\n`)
    chmodSync(join(bin, name), 0o755)
  }
}

/** The work itself goes through no filter: what one of the repository has to store, and may not, becomes a question. */
const unfiltered = `${attributes}src/** !filter\n`

test('hooks, monitor, filters, includes, aliases, submodule settings and fake programs of the repository start nothing', async () => {
  scene = await openScene(['honest'], {
    files: { '.gitattributes': unfiltered, 'a.md': 'a\n', 'b.ts': 'b\n', 'c.js': 'c\n' },
    arrange: ({ top, root, canary }) => {
      makeRepository(join(top, 'library'))
      user(root, '-c', 'protocol.file.allow=always', 'submodule', 'add', '--quiet', join(top, 'library'), 'lib')
      user(root, 'commit', '--quiet', '-m', 'submodule', '--', 'lib', '.gitmodules')
      user(root, 'config', 'submodule.lib.update', `!${canary.program}`)
      fakePrograms(root, canary.program)
      writeFileSync(join(root, '.git', 'info', 'exclude'), 'node_modules\n')
      makeHostile(join(root, '.git', 'modules', 'lib'), canary)
      makeHostile(join(root, '.git'), canary)
    },
  })
  const goal = await scene.work()
  expect([goal.state, goal.tasks[0]?.place]).toEqual(['ready', 'done'])
  for (const args of [[], ['status'], ['doctor'], ['report'], ['restore']]) await scene.cli(...args)
  await scene.expectUnharmed()
})

const isDone = async (id: string): Promise<true | undefined> =>
  (await scene.status()).goals.some((goal) => goal.id === id && goal.state === 'done') || undefined

/** What a landing writes. */
const ofLanding = (path: string): boolean => ['src/work.txt', '.git/index', '.git/refs/heads/main'].includes(path)

test.runIf(isLongForm)(
  'a branch of the hostile repository is fast-forwarded beside uncommitted work, and starts nothing',
  async () => {
    scene = await openScene(['honest'], {
      files: { '.gitattributes': unfiltered, 'a.md': 'a\n' },
      arrange: ({ root, canary }) => makeHostile(join(root, '.git'), canary),
    })
    const { id } = await scene.work([{}], { autoMerge: true })
    await until(() => isDone(id), 'the landing')
    await scene.expectUnharmed(ofLanding)
    expect(readFileSync(join(scene.root, 'README.md'), 'utf8')).toBe('edited, not committed\n')
    expect(user(scene.root, 'diff', '--cached', '--name-only', '--no-ext-diff')).toBe('staged.txt')
  },
)

test('work lands on a branch of the hostile repository that is checked out, and starts nothing', async () => {
  scene = await openScene(['honest'], {
    files: { '.gitattributes': unfiltered, 'a.md': 'a\n' },
    arrange: ({ root, canary }) => {
      user(root, 'reset', '--quiet', '--hard')
      makeHostile(join(root, '.git'), canary)
      const text = '[protocol "ext"]\n\tallow = always\n[remote "origin"]\n\turl = ext::sh -c true\n'
      appendFileSync(join(root, '.git', 'config'), text.replace('sh -c true', canary.program))
    },
  })
  const { id } = await scene.work([{}], { autoMerge: true })
  await until(() => isDone(id), 'the landing')
  expect(readFileSync(join(scene.root, 'src/work.txt'), 'utf8')).toContain('done')
  await scene.expectUnharmed(ofLanding)
})
