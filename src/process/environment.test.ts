import { expect, test } from 'vitest'
import { allowedEnvironment, approvedEnvironment, commandEnvironment, withPythonOf } from './environment.ts'

const source = {
  PATH: '/a/node_modules/.bin:/usr/bin:/b/node_modules/.bin/:/bin',
  HOME: '/home/x',
  LC_ALL: 'C',
  XDG_CONFIG_HOME: '/c',
  SSL_CERT_FILE: '/cert',
  https_proxy: 'http://proxy',
  NODE_OPTIONS: '--inspect',
  DATABASE_URL: 'postgres://…',
  SERVICE_KEY: 'key',
  UNSTUCK_TOKEN: 'mine',
  UNSTUCK_HOME: '/state',
  NOTHING: undefined,
}

test('only what stands on the list passes', () => {
  expect(allowedEnvironment(source)).toEqual({
    TERM: 'dumb',
    PATH: source.PATH,
    HOME: '/home/x',
    LC_ALL: 'C',
    XDG_CONFIG_HOME: '/c',
    SSL_CERT_FILE: '/cert',
    https_proxy: 'http://proxy',
  })
})

test('extra names pass when they are set, but never the settings of the engine', () => {
  const given = allowedEnvironment(source, ['SERVICE_KEY', 'NOTHING', 'ABSENT', 'UNSTUCK_TOKEN'])
  expect(given.SERVICE_KEY).toBe('key')
  expect(Object.keys(given).filter((name) => /NOTHING|ABSENT|UNSTUCK/.test(name))).toEqual([])
})

test('the tools of a language are those of the owner’s shell, and nothing else hides behind their names', () => {
  const tools = { JAVA_HOME: '/jdk', RUSTUP_HOME: '/r', PYENV_VERSION: '3.12.1', ASDF_NODEJS_VERSION: '22.1.0' }
  const others = {
    GOPATH: 'secret',
    ANDROID_HOME: 'token',
    RBENV_VERSION: 'a b',
    MISE_X_VERSION: 'k=v',
    JAVA_OPTS: '-Dp=x',
  }
  expect(allowedEnvironment({ ...tools, ...others })).toEqual({ TERM: 'dumb', ...tools })
})

test('what is added wins, and a terminal that is named stays', () => {
  const given = allowedEnvironment({ ...source, TERM: 'xterm' }, [], { HOME: '/other', UNSTUCK_RUN_DIR: '/run' })
  expect(given).toMatchObject({ HOME: '/other', UNSTUCK_RUN_DIR: '/run', TERM: 'xterm' })
})

test('a command finds the tools of its own workspace first and no other project’s', () => {
  expect(commandEnvironment('/srv', source).PATH).toBe(
    '/srv/node_modules/.bin:/srv/.venv/bin:/srv/venv/bin:/usr/bin:/bin',
  )
  expect(withPythonOf('/srv/api', { PATH: '/bin' }).PATH).toBe('/srv/api/.venv/bin:/srv/api/venv/bin:/bin')
  expect(commandEnvironment('/srv', {}).PATH).toBe('/srv/node_modules/.bin:/srv/.venv/bin:/srv/venv/bin')
})

test('an approved command finds the programs of the owner first, and no folder that depends on where it runs', () => {
  const given = { ...source, PATH: '.:bin:/srv/tools:/usr/bin::/other/node_modules/.bin:/bin' }
  const pathFor = (...programs: string[]): string | undefined =>
    approvedEnvironment('/srv', given, { extraNames: [], added: {}, programs }).PATH
  const packages = '/srv/node_modules/.bin'
  expect(pathFor('npm')).toBe(`/usr/bin:/bin:${packages}:/srv/.venv/bin:/srv/venv/bin`)
  expect(pathFor('pip', 'npm')).toBe(pathFor('npm'))
  expect(pathFor('pip3')).toBe(`/srv/.venv/bin:/srv/venv/bin:/usr/bin:/bin:${packages}`)
  expect(commandEnvironment('/srv', given).PATH).not.toMatch(/(?:^|:)(?:\.|bin)?(?::|$)/)
})
