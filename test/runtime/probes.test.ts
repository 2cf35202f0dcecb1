/** What the probes read after a check really failed, without an engine: versions, registries, packages. */
import { once } from 'node:events'
import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listenerOn, connectFailure } from '../../src/platform/tcp-ports.ts'
import { fileLimit, machineResources, oomKills, diskSpaceAt } from '../../src/platform/machine.ts'
import { livenessOf } from '../../src/platform/process.ts'
import { markerName } from '../../src/process/find.ts'
import type { ObservedCheck } from '../../src/recovery/evidence.ts'
import { probeFindings } from '../../src/recovery/probe.ts'
import type { MachineView } from '../../src/runtime/core/context.ts'
import { realPorts } from '../../src/runtime/core/ports.ts'
import { probeFailure } from '../../src/runtime/checks/probes.ts'
import { put } from '../workspace/scene.ts'

let top: string
/** Every host that was asked for. */
let asked: string[]
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-probes-')))
  asked = []
  put(top, { 'workspace/a.txt': '', 'owners/a.txt': '', 'home/a.txt': '', 'bin/a.txt': '' })
})
afterEach(() => rmSync(top, { recursive: true, force: true, maxRetries: 5 }))

const machine = (): MachineView => ({
  self: { host: 'here', bootId: '', pid: process.pid, startTime: '' },
  liveness: livenessOf,
  now: machineResources,
  room: diskSpaceAt,
  oomKills,
  fileLimit,
  listener: (port) => listenerOn(port, markerName),
  reach: (host, port, timeoutMs) => {
    asked.push(`${host}:${port}`)
    return connectFailure(host, port, timeoutMs)
  },
})

const found = async (
  failed: Partial<ObservedCheck>,
  environment: Record<string, string> = {},
  killsBefore?: number,
) => {
  const check: ObservedCheck = {
    ...{
      command: 'npm test',
      source: 'task',
      exitCode: 1,
      signal: null,
      timedOut: false,
      stdout: '',
      stderr: '',
      remaining: 0,
    },
    ...failed,
  }
  const readings = await probeFailure(
    {
      ports: realPorts,
      machine: machine(),
      killsBefore,
      workspace: join(top, 'workspace'),
      repository: { root: join(top, 'owners'), commonDir: null, id: 'r', head: null, branch: null },
      folder: (name) => join(top, `probe-${name}`),
      environment: { PATH: `${join(top, 'bin')}:/usr/bin:/bin`, HOME: join(top, 'home'), ...environment },
      extraNames: ['npm_config_registry'],
      marker: 'r-1-check',
      keepAliveMs: 60_000,
      signal: new AbortController().signal,
    },
    check,
  )
  return probeFindings({ ...check, measurements: readings })
}

test('versions: every file that asks, beside what the PATH of the checks has', async () => {
  put(top, {
    'workspace/package.json': '{"engines":{"node":">=99"}}',
    'workspace/.nvmrc': 'lts/*\n',
    'workspace/.tool-versions': 'nodejs 1.2.3\ngolang 1.22.0\nunheard-of 1.0.0\n',
    'workspace/go.mod': 'module own\n\ngo 1.21\n',
    'bin/node': '#!/bin/sh\necho v18.2.0\n',
  })
  chmodSync(join(top, 'bin/node'), 0o755)
  const stderr = 'npm error code EBADENGINE\nnpm error engine Unsupported engine'
  // Nothing of this machine: it may have Go.
  expect(await found({ stderr }, { PATH: join(top, 'bin') })).toEqual([
    {
      probe: 'runtime',
      points: 'environment',
      text: [
        'package.json requires node >=99, and 18.2.0 is installed',
        '.tool-versions requires node 1.2.3, and 18.2.0 is installed',
        '.tool-versions requires go 1.22.0, and it is not installed',
        'go.mod requires go >=1.21, and it is not installed',
      ].join('; '),
    },
  ])
})

const offline = (host: string) => ({
  command: 'npm ci',
  stderr: `npm error code ENOTFOUND\nnpm error network request to http://${host}/x failed, reason: getaddrinfo ENOTFOUND ${host}`,
})

test('the network: a registry that the owner names is asked, a host that only the output names never', async () => {
  put(top, { 'owners/.npmrc': 'registry=https://packages.invalid/\n' })
  expect(await found(offline('packages.invalid'))).toMatchObject([
    {
      probe: 'network',
      points: 'environment',
      text: expect.stringMatching(/^packages\.invalid:443 \(\.npmrc\) cannot be reached/),
    },
  ])
  expect(asked).toEqual(['packages.invalid:443'])
  expect(await found(offline('secret-of-the-owner.evil.invalid'))).toEqual([])
  expect(asked).toHaveLength(1)
})

test('the network: a registry that answers, and behind a proxy the proxy alone', async () => {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  try {
    const registry = `http://127.0.0.1:${port}/`
    expect(await found(offline('127.0.0.1'), { npm_config_registry: registry })).toMatchObject([
      { points: 'neither', text: `127.0.0.1:${port} (npm_config_registry) responds now` },
    ])
    put(top, { 'owners/.npmrc': 'registry=https://packages.invalid/\n' })
    asked = []
    await found(offline('packages.invalid'), { HTTPS_PROXY: `http://user:secret@127.0.0.1:${port}` })
    expect(asked).toEqual([`127.0.0.1:${port}`])
  } finally {
    server.close()
  }
})

test('packages: a stale lockfile, told from the files that npm keeps', async () => {
  const lock = (version: string) => JSON.stringify({ packages: { '': {}, 'node_modules/dep': { version } } })
  put(top, {
    'workspace/package.json': '{"dependencies":{"dep":"2"}}',
    'workspace/package-lock.json': lock('2.0.0'),
    'workspace/node_modules/.package-lock.json': lock('1.0.0'),
    'workspace/node_modules/dep/package.json': '{"version":"1.0.0"}',
  })
  expect(await found({ stderr: "Error: Cannot find module 'dep/new'" })).toMatchObject([
    { probe: 'packages', points: 'environment', text: expect.stringContaining('dep is 1.0.0 instead of 2.0.0') },
  ])
})

test('packages: of Python alone, where its runtime speaks, and whose fault it is', async () => {
  const site = 'workspace/.venv/lib/python3.11/site-packages'
  put(top, {
    'workspace/package.json': '{"dependencies":{"dep":"2"}}',
    'workspace/package-lock.json': '{}',
    'workspace/requirements.txt': 'my-pkg==1.0\n',
    'workspace/cart.py': 'import structlog\n',
    'workspace/.venv/pyvenv.cfg': 'home = /usr/bin\n',
    [`${site}/my_pkg-1.0.dist-info/METADATA`]: '',
  })
  const stderr = [
    `  File "${join(top, 'workspace/cart.py')}", line 1, in <module>`,
    "ModuleNotFoundError: No module named 'structlog'",
  ].join('\n')
  expect(await found({ stderr })).toEqual([
    {
      probe: 'packages',
      points: 'work',
      text: 'no manifest or lockfile of the project declares structlog, and the installed packages match requirements.txt',
    },
  ])
  put(top, { 'workspace/requirements.txt': 'my-pkg==1.0\nstructlog==24.1.0\n' })
  expect(await found({ stderr })).toMatchObject([
    { points: 'environment', text: '.venv does not match requirements.txt: structlog is not installed' },
  ])
})

test('memory: what the kernel ended between two looks', async () => {
  const killed = { exitCode: null, signal: 'SIGKILL' }
  const now = oomKills()
  if (now === undefined) return
  expect(await found(killed, {}, now)).toMatchObject([{ probe: 'memory', points: 'neither' }])
  expect(await found(killed, {}, now - 1)).toMatchObject([{ probe: 'memory', points: 'environment' }])
  // Without a count from before the check nothing can be said.
  expect(await found(killed)).toEqual([])
})
