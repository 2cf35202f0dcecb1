import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { configSchema } from '../../config/config-schema.ts'
import { printedBy } from '../../process/program-version.ts'
import { realPorts } from '../core/ports.ts'
import { hostContext, hostSnapshotSchema } from './host-snapshot.ts'

let top = ''
let now = 0
let started: string[] = []
let limits: { ms: number; end: () => void }[] = []
let warnings: string[] = []
let stop = new AbortController()
let memory = ''

const put = (path: string, text: string): void => {
  mkdirSync(dirname(join(top, path)), { recursive: true })
  writeFileSync(join(top, path), text)
}
/** A program on the PATH of this test alone. */
const program = (name: string, script: string): void => {
  put(`bin/${name}`, `#!/bin/sh\n${script}\n`)
  chmodSync(join(top, 'bin', name), 0o755)
}

const given = () =>
  ({
    ports: {
      ...realPorts,
      host: { facts: () => ({ os: 'Test 1', kernel: 'Kern 2', arch: 'chip', cpu: 'CPU (4 cores)', memory }) },
      processes: {
        ...realPorts.processes,
        printedBy: (path: string, args: string[], options: Parameters<typeof printedBy>[2]) => {
          started.push(`${path.slice(path.lastIndexOf('/') + 1)} ${args.join(' ')}`)
          return printedBy(path, args, options)
        },
      },
    },
    environment: { PATH: join(top, 'bin'), SHELL: '/bin/zsh', HOME: top, API_TOKEN: 'hunter2-hunter2' },
    config: () => configSchema.parse({}),
    clock: {
      now: () => new Date(now),
      after: (ms: number, end: () => void) => {
        limits.push({ ms, end })
        return () => undefined
      },
    },
    stateDir: join(top, 'state'),
    repository: { root: join(top, 'repo') },
    stopping: stop.signal,
    log: { warn: (_fields: object, message: string) => warnings.push(message) },
  }) as unknown as Parameters<typeof hostContext>[0]

beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'host-'))
  mkdirSync(join(top, 'bin'))
  mkdirSync(join(top, 'state'))
  now = Date.UTC(2026, 0, 1)
  ;[started, limits, warnings, stop, memory] = [[], [], [], new AbortController(), '8.0 GiB']
})
afterEach(() => rmSync(top, { recursive: true }))

const hour = 3_600_000
const file = (): string => join(top, 'state/host-snapshot.json')

const picture = `\u001B[1mme@box\u001B[0m
------
OS: Ubuntu 24.04 LTS x86_64
Kernel: 6.8.0
Uptime: 3 mins
Shell: zsh 5.9
Terminal: tmux
CPU: Chip 9000 (8)
Memory: 3045MiB / 15900MiB`

describe('the snapshot of the machine', () => {
  test('neofetch names the system, and what changes by the minute is neither a fact nor in the fingerprint', async () => {
    program('neofetch', `[ "$1" = --stdout ] && /bin/cat <<'END'\n${picture}\nEND`)
    const { refreshed, snapshot } = await hostContext(given())
    expect(refreshed).toBe(true)
    expect(snapshot.host).toEqual({
      ...{ os: 'Ubuntu 24.04 LTS x86_64', kernel: '6.8.0', arch: 'chip', shell: 'zsh 5.9', terminal: 'tmux' },
      ...{ cpu: 'Chip 9000 (8)', memory: '8.0 GiB' },
    })
    expect(snapshot.neofetch).toMatchObject({ available: true, info: { Uptime: '3 mins' } })
    expect(snapshot.neofetch.output).toMatch(/^me@box\n/)
    rmSync(file())
    const stamp = new Date(1_700_000_000_000)
    utimesSync(join(top, 'bin/neofetch'), stamp, stamp)
    const before = (await hostContext(given())).snapshot.fingerprint
    program('neofetch', `/bin/cat <<'END'\n${picture.replace('3045MiB', '9045MiB').replace('3 mins', '4 mins')}\nEND`)
    utimesSync(join(top, 'bin/neofetch'), stamp, stamp)
    rmSync(file())
    expect((await hostContext(given())).snapshot.fingerprint).toBe(before)
  })

  test('uname -srmo names kernel and processor where there is no neofetch', async () => {
    program('uname', '[ "$1" = -srmo ] && echo "Linux 6.1.0-x riscv64 GNU/Linux"')
    const { snapshot } = await hostContext(given())
    expect(started).toEqual(['uname -srmo'])
    expect(snapshot.host).toEqual({
      ...{ os: 'Test 1', kernel: 'Linux 6.1.0-x', arch: 'riscv64', shell: 'zsh' },
      ...{ cpu: 'CPU (4 cores)', memory: '8.0 GiB' },
    })
    expect(snapshot.neofetch).toMatchObject({
      available: false,
      info: {},
      message: expect.stringContaining('PATH') as string,
    })
  })

  test('without both it says what the system itself reports', async () => {
    expect((await hostContext(given())).snapshot.host).toMatchObject({ os: 'Test 1', kernel: 'Kern 2', arch: 'chip' })
    expect(started).toEqual([])
  })

  test('versions are those of the tools on the PATH; a package is not started for that', async () => {
    program('node', 'echo v24.1.0')
    program('docker', 'echo "Docker version 27.3.1, build ce12230"')
    program('go', '[ "$1" = version ] && echo "go version go1.23.4 linux/amd64"')
    program('python3', 'echo "Python 3.12.1"')
    program('make', 'exit 1')
    put('lib/npm/package.json', '{"name":"npm","version":"11.2.0"}')
    put('lib/npm/bin/cli.js', '')
    chmodSync(join(top, 'lib/npm/bin/cli.js'), 0o755)
    symlinkSync('../lib/npm/bin/cli.js', join(top, 'bin/npm'))
    // A stand-in of another package says nothing about the tool, which is asked then, without a network.
    put('lib/corepack/package.json', '{"name":"corepack","version":"0.31.0"}')
    put('lib/corepack/pnpm.sh', '#!/bin/sh\n[ "$COREPACK_ENABLE_NETWORK" = 0 ] && [ -z "$API_TOKEN" ] && echo 10.4.0')
    chmodSync(join(top, 'lib/corepack/pnpm.sh'), 0o755)
    symlinkSync('../lib/corepack/pnpm.sh', join(top, 'bin/pnpm'))
    const { snapshot } = await hostContext(given())
    expect(snapshot.tools).toEqual({
      ...{ node: '24.1.0', npm: '11.2.0', pnpm: '10.4.0', python: '3.12.1', go: '1.23.4', docker: '27.3.1' },
    })
    expect(started.some((line) => line.startsWith('npm '))).toBe(false)
  })

  test('a program that an agent could have put there is neither started nor named', async () => {
    const planted = ['repo/tools/git', 'repo/node_modules/.bin/git', 'other/node_modules/.bin/git', 'state/bin/git']
    for (const path of planted) {
      put(path, '#!/bin/sh\necho git version 6.6.6\n')
      chmodSync(join(top, path), 0o755)
    }
    const folders = [...planted.map((path) => dirname(join(top, path))), 'repo/tools', '', join(top, 'bin')]
    const context = { ...given(), environment: { PATH: folders.join(':') } }
    expect((await hostContext(context)).snapshot.tools).toEqual({})
    program('git', 'echo git version 2.43.0')
    expect((await hostContext(context)).snapshot.tools).toEqual({ git: '2.43.0' })
    expect(started).toEqual(['git --version'])
  })

  test('is kept for 24 hours, and taken again after that', async () => {
    program('node', 'echo v24.1.0')
    const first = await hostContext(given())
    expect(new Date(first.snapshot.expiresAt).getTime()).toBe(now + 24 * hour)
    expect(hostSnapshotSchema.parse(JSON.parse(readFileSync(file(), 'utf8')))).toEqual(first.snapshot)
    started = []
    now += 24 * hour - 1
    expect(await hostContext(given())).toEqual({ refreshed: false, snapshot: first.snapshot })
    expect(started).toEqual([])
    now += 1
    expect((await hostContext(given())).refreshed).toBe(true)
    expect(readdirSync(join(top, 'state'))).toEqual(['host-snapshot.json'])
  })

  test.each<[string, () => void]>([
    ['a tool was updated', () => utimesSync(join(top, 'bin/node'), 1, 1)],
    ['a tool was added', () => program('git', 'echo git version 2.43.0')],
    ['a tool was removed', () => rmSync(join(top, 'bin/node'))],
    ['neofetch was installed', () => program('neofetch', 'echo "OS: X"')],
    ['the machine got more memory', () => void (memory = '16.0 GiB')],
    ['the file is damaged', () => writeFileSync(file(), '{"schemaVersion":1')],
    ['the file is of another version', () => writeFileSync(file(), '{"schemaVersion":2}')],
    ['the clock was set back', () => void (now -= hour)],
  ])('is taken again if %s', async (_, change) => {
    program('node', 'echo v24.1.0')
    await hostContext(given())
    change()
    expect((await hostContext(given())).refreshed).toBe(true)
    expect((await hostContext(given())).refreshed).toBe(false)
  })

  test('is taken once for callers at the same time', async () => {
    program('node', 'echo v24.1.0')
    const [one, two] = await Promise.all([hostContext(given()), hostContext(given())])
    expect(two.snapshot).toBe(one.snapshot)
    expect(started).toEqual(['node --version'])
  })

  test('a program that never answers is ended at its limit', async () => {
    program('neofetch', 'exec sleep 600')
    program('node', 'exec sleep 600')
    const taken = hostContext(given())
    expect(new Set(limits.map(({ ms }) => ms))).toEqual(new Set([5_000, 8_000]))
    for (const { end } of limits) end()
    const { snapshot } = await taken
    expect(snapshot).toMatchObject({ tools: {}, host: { os: 'Test 1' }, neofetch: { available: false } })
    expect(snapshot.neofetch.message).toContain('printed nothing within 8 s')
  })

  test('what an engine that stops has not learned is not stored', async () => {
    program('node', 'exec sleep 600')
    const taken = hostContext(given())
    stop.abort()
    await taken
    expect(readdirSync(join(top, 'state'))).toEqual([])
  })

  test('a state folder that cannot be written costs only the file', async () => {
    rmSync(join(top, 'state'), { recursive: true })
    expect((await hostContext(given())).snapshot.host.os).toBe('Test 1')
    expect(warnings).toEqual(['the snapshot of this machine could not be stored'])
  })

  test('output without end is cut, and control characters are left out', async () => {
    program('neofetch', String.raw`printf 'OS: a\033[31mb\007c\n'; head -c 20000 /dev/zero | tr '\0' x`)
    const context = given()
    const environment = { ...context.environment, PATH: `${join(top, 'bin')}:/usr/bin:/bin` }
    const { snapshot } = await hostContext({ ...context, environment })
    expect(snapshot.neofetch.output?.length).toBe(6_000)
    expect(snapshot.host.os).toBe('abc')
  })
})
