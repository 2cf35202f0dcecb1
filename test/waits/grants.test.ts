/** `unstuck grants`, on a running engine and on a store without one. Its errors are compared word by word. */
import { existsSync, readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GoalView, GrantList } from '../../src/api/contract.ts'
import { learnPath } from '../../src/store/learned-path.ts'
import { openStore } from '../../src/store/open.ts'
import { openScene, type Scene } from '../hostile/scene.ts'
import { user } from '../workspace/scene.ts'

/** Passes until the agent has worked: the task waits for a person. */
const never =
  "import { readFileSync } from 'node:fs'\nif (readFileSync('src/work.txt', 'utf8').includes('done')) process.exit(1)\n"
const me = userInfo().username

let scene: Scene
let taskId = ''
let doneId = ''
beforeAll(async () => {
  scene = await openScene(['honest'], {
    files: { 'never.mjs': never },
    config: { deniedPaths: ['infra'], playbooks: { disabled: ['check-feedback', 'fresh-feedback'] } },
  })
  const done: GoalView = await scene.work([{}])
  doneId = done.tasks[0]?.id ?? ''
  const stuck: GoalView = await scene.work([
    { commands: ['node never.mjs'], allowedPaths: ['src/**', 'docs'], deniedPaths: ['src/generated'] },
  ])
  taskId = stuck.tasks[0]?.id ?? ''
})
afterAll(async () => scene.clear())

const ran = async (...args: string[]): Promise<string> => {
  const { stdout, stderr, exitCode } = await scene.here('grants', ...args)
  expect([exitCode, stderr]).toEqual([0, ''])
  return stdout
}
const list = async (...args: string[]): Promise<GrantList> => JSON.parse(await ran('--json', ...args)) as GrantList
const idIn = (text: string): string => /\[(p-[a-z0-9]+)\]/.exec(text)?.[1] ?? ''
/** Times differ from run to run. */
const withoutTimes = (text: string): string =>
  text.replaceAll(
    /(?:on \w+ \d+ \w+(?: \d+)? )?(?:at )?(?:\w{3} \d+ \w{3} )?\d\d:\d\d, (?:in )?[\d a-z]+?(?: ago)?(?=[:;,)\n]| if)/g,
    '<time>',
  )

test('without any, says so and how to grant one', async () => {
  expect(await ran()).toBe(
    'No path is granted, and none was learned as generated.\nTo grant one: unstuck grants add <path> --area <folder> --why "…"\n',
  )
  expect(await list()).toEqual({ days: 30, grants: [], learned: [] })
})

describe('a grant', () => {
  test('for an area is listed with who, why and when, until it is revoked by its path', async () => {
    const added = await ran(
      'add',
      join(scene.root, 'Makefile'),
      '--area',
      './src/',
      '--why',
      'the modules are listed there',
    )
    const id = idIn(added)
    expect(withoutTimes(added)).toBe(
      `Makefile may now be changed by tasks in src [${id}]\nit ends <time> if unused; to revoke it: unstuck grants revoke ${id}\n`,
    )
    expect(withoutTimes(await ran())).toBe(
      [
        'Tasks may change these paths in addition to their own:',
        `  Makefile for tasks in src [${id}]`,
        `      granted by ${me} <time>: the modules are listed there`,
        '      no run used it; ends <time> if unused',
        '',
      ].join('\n'),
    )
    expect(await ran('revoke', 'Makefile')).toBe(`Makefile may no longer be changed by tasks in src [${id}]\n`)
    expect(await list()).toMatchObject({ grants: [] })
    expect(await list('--all')).toMatchObject({
      grants: [{ id, ended: 'revoked', revokedBy: me, scope: 'area', areas: ['src'] }],
    })
    expect(await ran('--all')).toContain(`no run used it; revoked by ${me}`)
    expect((await scene.events('policy.revoked')).at(-1)?.payload).toMatchObject({ grant: id, by: me })
  })

  test('for a task may be a glob, and is revoked by its id once', async () => {
    const id = idIn(await ran('add', 'tools/*.sh', '--task', taskId, '--why', 'scripts'))
    expect(await list()).toMatchObject({ grants: [{ id, path: 'tools/*.sh', scope: 'task', taskId, role: 'worker' }] })
    expect(JSON.parse(await ran('revoke', id, '--json'))).toMatchObject([{ id, revokedBy: me }])
    const again = await scene.here('grants', 'revoke', id)
    expect([again.exitCode, again.stderr]).toEqual([
      5,
      `unstuck: grant ${id} ("tools/*.sh") has ended before: revoked by ${me}\n`,
    ])
  })
})

describe('refused, and nothing is granted:', () => {
  const why = ['--why', 'so']
  const area = ['--area', 'src', ...why]
  test.each<[string, () => string[], number, string | RegExp]>([
    ['a mistyped action', () => ['revok', 'x'], 2, /'revok' is invalid.*Allowed choices are add, revoke, forget/s],
    ['an action without a path', () => ['add', ...area], 2, 'name the path: unstuck grants add <path>'],
    ['a revoke of nothing', () => ['revoke'], 2, 'name the path: unstuck grants revoke <path or id>'],
    [
      'neither area nor task',
      () => ['add', 'Makefile', ...why],
      2,
      'say who may change Makefile: unstuck grants add Makefile --area <folder> --why "…" (or --task <id> for one task)',
    ],
    ['area and task', () => ['add', 'Makefile', ...area, '--task', 't-1'], 2, /--area and --task exclude each other/],
    [
      'no reason',
      () => ['add', 'Makefile', '--area', 'src'],
      2,
      '--why is missing: unstuck grants add Makefile --area src --why "<reason>"',
    ],
    ['an option of add', () => ['revoke', 'Makefile', ...why], 2, '--why belongs to "unstuck grants add <path>"'],
    ['--all with an action', () => ['forget', 'x', '--all'], 2, '--all belongs to the list: unstuck grants --all'],
    [
      'a path that leaves the repository',
      () => ['add', '../x', ...area],
      2,
      '"../x" cannot be granted: it leaves the repository with ".."; name a path inside the repository',
    ],
    [
      'an absolute path outside of it',
      () => ['add', '/etc/passwd', ...area],
      2,
      /^\/etc\/passwd is outside the repository \S+; name a path inside it$/,
    ],
    [
      'a denied path',
      () => ['add', 'infra/main.tf', ...area],
      2,
      '"infra/main.tf" cannot be granted: "infra" is in deniedPaths of the configuration; remove it there first',
    ],
    [
      'a path that the task denies',
      () => ['add', 'src/generated/a.ts', '--task', taskId, ...why],
      2,
      '"src/generated/a.ts" cannot be granted: the task denies "src/generated"; change that first with "unstuck edit <task> --deny …"',
    ],
    [
      'a secret',
      () => ['add', 'config/.env', ...area],
      2,
      '"config/.env" cannot be granted: names like "**/.env" are those of secrets, which no setting allows',
    ],
    ['a glob of secrets', () => ['add', '**/*.pem', ...area], 2, /those of secrets/],
    ['a glob in a denied folder', () => ['add', 'infra/**', ...area], 2, /"infra" is in deniedPaths/],
    [
      'everything',
      () => ['add', '**', ...area],
      2,
      '"**" cannot be granted: it covers the whole repository; name a folder',
    ],
    ['our own folder', () => ['add', '.unstuck/config.json', ...area], 2, /".unstuck" holds your configuration/],
    ['git’s folder', () => ['add', '.git/config', ...area], 2, '".git/config" cannot be granted: it belongs to git'],
    [
      'an area that is no folder',
      () => ['add', 'Makefile', '--area', '.', ...why],
      2,
      '--area ".": it is no single folder; name a folder of the repository, such as src/parser',
    ],
    ['an unknown task', () => ['add', 'Makefile', '--task', 't-nosuch', ...why], 4, /there is no task t-nosuch/],
    [
      'a task that has ended',
      () => ['add', 'Makefile', '--task', doneId, ...why],
      5,
      /^task t-\w+ is done, so a grant would have no effect; name an area \(--area\)$/,
    ],
    [
      'a path that the task may change already',
      () => ['add', 'docs/a.md', '--task', taskId, ...why],
      5,
      /^task t-\w+ may change "docs\/a.md" already: its paths contain "docs"$/,
    ],
    [
      'a reason with a control character',
      () => ['add', 'Makefile', '--area', 'src', '--why', 'a\u0007b'],
      2,
      /the reason contains a control/,
    ],
    ['an unknown grant', () => ['revoke', 'p-nosuch'], 4, 'there is no grant "p-nosuch"; "unstuck grants" lists them'],
    [
      'an unknown learned path',
      () => ['forget', 'coverage'],
      4,
      '"coverage" is no learned path; "unstuck grants" lists the learned paths',
    ],
  ])('%s', async (_what, args, code, text) => {
    const { stderr, exitCode } = await scene.here('grants', ...args())
    expect(exitCode).toBe(code)
    const said = stderr.replace(/^unstuck: /, '').trimEnd()
    if (typeof text === 'string') expect(said).toBe(text)
    else expect(said).toMatch(text)
    expect(await scene.api<GrantList>('/grants')).toMatchObject({ grants: [], learned: [] })
  })

  test('a second grant of the same, and a mistyped path is told the nearest', async () => {
    const id = idIn(await ran('add', 'Makefile', '--area', 'src', '--why', 'so'))
    const twice = await scene.here('grants', 'add', './Makefile', '--area', 'src', '--why', 'again')
    expect([twice.exitCode, twice.stderr]).toEqual([
      5,
      `unstuck: "Makefile" is already granted to tasks in src, by ${me} (${id})\n`,
    ])
    const typo = await scene.here('grants', 'revoke', 'Makefil')
    expect([typo.exitCode, typo.stderr]).toEqual([
      4,
      'unstuck: there is no grant "Makefil"; did you mean "Makefile"?\n',
    ])
    await ran('revoke', id)
  })
})

describe('a learned path, on a store without an engine,', () => {
  test('is listed, and forgotten by an engine that the command starts', async () => {
    await scene.stop()
    const { stateDir, environment } = scene
    const db = await openStore({ stateDir, environment })
    const evidence = { untrackedInBase: true, madeBy: ['npm test'], at: new Date().toISOString() }
    await db.transaction((tx) => learnPath(tx, { path: 'coverage', evidence, goalId: null, taskId: null, runId: null }))
    await db.close()
    expect(withoutTimes(await ran())).toBe(
      [
        'These paths count as generated and are left out of the work, unless git tracks them:',
        '  coverage: it was made by `npm test` and it is not in the base commit',
        '      learned <time>, seen in 1 run, last <time>; ends <time> if unused',
        '',
      ].join('\n'),
    )
    const file = await scene.here('grants', 'forget', 'coverage/lcov.info')
    expect([file.exitCode, file.stderr]).toEqual([
      4,
      'unstuck: "coverage/lcov.info" is no learned path; did you mean "coverage"?\n',
    ])
    const wrong = await scene.here('grants', 'revoke', 'coverage')
    expect(wrong.stderr).toBe(
      'unstuck: "coverage" is a learned path, not a grant; to undo it: unstuck grants forget coverage\n',
    )
    // The engine that was started has exported what is learned.
    const exported = join(scene.root, '.unstuck/generated-paths.auto.txt')
    await expect.poll(() => existsSync(exported)).toBe(true)
    expect(await ran('forget', 'coverage')).toBe(
      'coverage no longer counts as generated\nit is learned again only if another command makes it\n',
    )
    expect(readFileSync(exported, 'utf8')).not.toContain('\ncoverage')
    expect(user(scene.root, 'status', '--porcelain')).not.toContain('.unstuck')
    expect(await list('--all')).toMatchObject({ learned: [{ path: 'coverage', ended: 'undone', undoneBy: me }] })
    expect(await ran('--all')).toContain(`undone by ${me}`)
    await scene.cli('stop')
  })
})
