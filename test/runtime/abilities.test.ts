/** What is learnt of an installed CLI: asked once, bounded in time, and never a command line of the owner's. */
import { chmodSync, mkdtempSync, realpathSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { codex } from '../../src/harness/codex.ts'
import { command } from '../../src/harness/command.ts'
import { askVersion } from '../../src/process/program-version.ts'
import { detectCapabilities, detectEarly } from '../../src/runtime/harness/detected-capabilities.ts'
import { realFiles } from '../../src/runtime/core/files.ts'
import type { RunContext } from '../../src/runtime/core/run-context.ts'

const bin = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-abilities-')))
const engines: AbortController[] = []
afterAll(() => {
  // What does not answer ends with its engine.
  for (const engine of engines) engine.abort()
  rmSync(bin, { recursive: true, force: true })
})

const install = (name: string, script: string): string => {
  const path = join(bin, name)
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
  return path
}

/** One engine. `patience` is what the clock does with the wait of a launch. */
const engine = (patience: () => Promise<void> = () => new Promise(() => undefined)) => {
  const asked: string[] = []
  const stopping = new AbortController()
  engines.push(stopping)
  const context = {
    cliVersions: new Map(),
    clock: { wait: patience },
    environment: { PATH: `${bin}:/usr/bin:/bin` },
    stopping: stopping.signal,
    ports: {
      files: realFiles,
      processes: {
        askVersion: (program: string, options: Parameters<typeof askVersion>[1]) => {
          asked.push(program)
          return askVersion(program, options)
        },
      },
    },
  }
  const run = (more: object = {}) =>
    ({ context, driver: codex, harness: { args: [] }, ...more }) as unknown as RunContext
  return { asked, run }
}

test('a program is asked once in the life of an engine, and again when its file is another', async () => {
  const program = install('codex', 'echo codex-cli 0.169.0')
  const { asked, run } = engine()
  detectEarly(run())
  expect(await detectCapabilities(run())).toMatchObject({ version: '0.169.0', measured: '0.169.0', exact: true })
  await detectCapabilities(run())
  expect(asked).toEqual([program])
  install('codex', 'echo codex-cli 0.900.1')
  utimesSync(program, 1, 1)
  expect(await detectCapabilities(run())).toMatchObject({ version: '0.900.1', measured: '0.169.0', exact: false })
  expect(asked).toEqual([program, program])
})

test('one that fails, says nothing or does not answer in time is taken for the newest that was measured', async () => {
  const unknown = { version: null, measured: '0.169.0', exact: false }
  for (const script of ['exit 1', 'echo no number', 'exec sleep 60']) {
    const program = install('odd', script)
    const { run } = engine(script.includes('sleep') ? () => Promise.resolve() : undefined)
    const runContext = run({ harness: { args: [], command: [program] } })
    expect(await detectCapabilities(runContext)).toMatchObject(unknown)
  }
})

test('a command line of the owner, a program of no known CLI and one that is not there are not asked', async () => {
  const { asked, run } = engine()
  for (const harness of [{ command: [install('mine', 'touch "$0.ran"'), 'x'] }, { command: [join(bin, 'gone')] }])
    expect(await detectCapabilities(run({ harness: { args: [], ...harness } }))).toMatchObject({ version: null })
  expect(await detectCapabilities(run({ driver: command, harness: { args: [], command: [bin] } }))).toMatchObject({
    exact: true,
  })
  expect(asked).toEqual([])
})
