import { describe, expect, test } from 'vitest'
import { buildCommands, type BuildSources } from './build-script.ts'

const commandsFor = (scripts: Record<string, string>, more: Partial<BuildSources> = {}): string[] =>
  buildCommands({
    ...{ evidence: "Cannot find module '../dist/x.js'", folder: '', manager: 'npm', targets: [], plan: [] },
    scripts: { now: scripts, base: scripts },
    ...more,
  })

describe('the builds that a check may need', () => {
  test.each<[string, Record<string, string>, string[]]>([
    ['the build before generators', { codegen: 'x', build: 'tsc' }, ['npm run build', 'npm run codegen']],
    ['what npm itself runs last', { prepare: 'tsc', compile: 'tsc' }, ['npm run compile', 'npm run prepare']],
    ['a generator of a tool', { 'prisma:generate': 'prisma generate' }, ['npm run prisma:generate']],
    ['none that waits for changes', { build: 'tsc -w', 'build:lib': 'rollup -c --watch' }, []],
    ['none that publishes or serves', { 'build:docs': 'a', release: 'b', start: 'c', 'build:docker': 'd' }, []],
  ])('%s', (_what, scripts, commands) => {
    expect(commandsFor(scripts)).toEqual(commands)
  })
  test('generators first, where generated code is missing', () => {
    const evidence = "Cannot find module './generated/client'"
    expect(commandsFor({ build: 'tsc', generate: 'x' }, { evidence })).toEqual(['npm run generate', 'npm run build'])
  })
  test('only scripts of the base commit, and none that is a check already', () => {
    const now = { build: 'tsc', compile: 'mine' }
    expect(commandsFor(now, { scripts: { now, base: { build: 'tsc', compile: 'tsc' } } })).toEqual(['npm run build'])
    expect(commandsFor(now, { plan: ['npm run build'] })).toEqual(['npm run compile'])
  })
  test('in the folder of the manifest, with its own manager, and make targets after scripts', () => {
    const more = { folder: 'my packages/a', manager: 'pnpm', targets: ['build'] }
    expect(commandsFor({ build: 'tsc' }, more)).toEqual(["cd 'my packages/a' && pnpm run build", 'make build'])
  })
})
