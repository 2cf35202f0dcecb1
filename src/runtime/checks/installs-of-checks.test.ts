import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { realFiles } from '../core/files.ts'
import { installsOfChecks } from './installs-of-checks.ts'

const top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-installs-')))
afterAll(() => rmSync(top, { recursive: true, force: true }))

const asks = '{"dependencies":{"dep":"1"}}'

const make = (name: string, files: Record<string, string>): string => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(top, name, path)), { recursive: true })
    writeFileSync(join(top, name, path), text)
  }
  return join(top, name)
}

make('several', {
  'web/package.json': asks,
  'web/package-lock.json': '{}',
  'web/src/a.test.js': '',
  'api/uv.lock': '',
  'lib/package.json': asks,
  Makefile: 'test: web-test\n\t$(MAKE) -C api test\nweb-test:\n\tcd web && npm test\n',
  'api/Makefile': 'test:\n\tuv run pytest\n',
})

make('monorepo', {
  'package.json': '{"scripts":{"test":"npm --prefix own test"},"workspaces":["own"],"devDependencies":{"dep":"1"}}',
  'package-lock.json': '{}',
  'own/package.json': asks,
  'tool/package.json': asks,
  'tool/yarn.lock': '',
})

const linked = make('linked', { 'readme.txt': '' })
symlinkSync(join(top, 'several', 'web'), join(linked, 'web'))

test.each<[workspace: string, commands: string[], installs: string[]]>([
  ['several', ['cd web && npm test'], ['npm in web']],
  ['several', ['npm --prefix web test'], ['npm in web']],
  ['several', ['cd web/src && node --test'], ['npm in web']],
  ['several', ['make test'], ['npm in web', 'uv in api']],
  ['several', ['cd web && npm test && cd ../api && uv run pytest'], ['npm in web', 'uv in api']],
  ['several', ['cd lib && npm test'], ['npm-unlocked in lib']],
  ['several', ['cd web && npm ci --no-audit && npm test'], []],
  ['several', ['echo web', 'node -e 0', 'cd ../elsewhere && npm test', 'cd no-such && npm test'], []],
  ['monorepo', ['npm test'], ['npm in ']],
  ['monorepo', ['cd own && npm test'], ['npm in ']],
  ['monorepo', ['cd tool && yarn test'], ['npm in ', 'yarn-1 in tool']],
  ['linked', ['cd web && npm test'], []],
])('%s: %j', async (workspace, commands, installs) => {
  const found = await installsOfChecks(realFiles, join(top, workspace), commands)
  expect(found.map(({ manager, folder }) => `${manager} in ${folder}`).sort()).toEqual(installs)
})
