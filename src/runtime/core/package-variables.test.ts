/** Where npm writes when the work may have written a `.npmrc`: where the user has it, however that is said. */
import { expect, test } from 'vitest'
import type { Files } from './files.ts'
import { npmVariables, ownersSearchPaths } from './package-variables.ts'

const over = (texts: Record<string, string>): Files =>
  ({
    existsSync: (path: string) => path in texts,
    statSync: (path: string) => ({ isFile: () => path in texts }),
    readFileSync: (path: string) => {
      if (texts[path] === undefined) throw new Error('ENOENT')
      return texts[path]
    },
    homeDir: () => '/home/account',
  }) as unknown as Files

const work = { '/w/app/.npmrc': 'cache=/elsewhere\n' }
const folders = ['/w', '/w/app']

test.each([
  ['as npm has it by itself', work, {}, ['/home/account/.npmrc', '/home/account/.npm']],
  ['by the home folder', work, { HOME: '/h' }, ['/h/.npmrc', '/h/.npm']],
  ["by the user's file", { ...work, '/h/.npmrc': 'x=1\n cache = ~/c \n' }, { HOME: '/h' }, ['/h/.npmrc', '/h/c']],
  [
    'by variables',
    { ...work, '/u/rc': 'cache=/u/c' },
    { HOME: '/h', NPM_CONFIG_USERCONFIG: '/u/rc' },
    ['/u/rc', '/u/c'],
  ],
  ['by a variable for the cache', work, { npm_config_cache: '/v' }, ['/home/account/.npmrc', '/v']],
])('%s', (_name, texts, environment, [userconfig, cache]) => {
  expect(npmVariables(over(texts), environment, folders)).toEqual({
    npm_config_userconfig: userconfig,
    npm_config_cache: cache,
    npm_config_logs_dir: `${cache}/_logs`,
    npm_config_global: 'false',
    npm_config_location: 'project',
  })
})

test('nothing is said where the work has no such file', () => {
  expect(npmVariables(over({ '/h/.npmrc': 'cache=/c' }), { HOME: '/h' }, folders)).toEqual({})
})

test('the search paths of the shell lead into the workspace instead of the checkout', () => {
  const environment = { PYTHONPATH: '/repo/lib::lib:/opt/more', NODE_PATH: '/repository' }
  expect(ownersSearchPaths('/w', { root: '/repo', environment })).toEqual({
    PYTHONPATH: '/w/lib:/opt/more',
    NODE_PATH: '/repository',
  })
  expect(ownersSearchPaths('/w', { root: '/repo', environment: {} })).toEqual({})
})
