import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { realFiles } from '../runtime/core/files.ts'
import { codex } from './codex.ts'
import type { Transcript } from './driver.ts'

const home = mkdtempSync(join(tmpdir(), 'unstuck-rollout-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

const thread = '01a22727-618d-7900-a179-8ac15c6f3215'
const workspace = '/project'
const source = { environment: { HOME: home }, files: realFiles, workspace }

/** The form of 0.169.0: a call, and its answer some milliseconds later. */
const call = (id: string, at: string, payload: object, output: string): string[] => [
  JSON.stringify({ timestamp: at, type: 'response_item', payload: { ...payload, call_id: id } }),
  JSON.stringify({
    timestamp: at,
    type: 'response_item',
    payload: { type: 'function_call_output', call_id: id, output },
  }),
]
const patch = (id: string, at: string, input: string, output: string): string[] =>
  call(id, at, { type: 'custom_tool_call', name: 'apply_patch', input }, output)
const shell = (id: string, at: string, output: string): string[] =>
  call(id, at, { type: 'function_call', name: 'exec_command', arguments: '{"cmd":"make"}' }, output)

const record = (...lines: string[][]): void => {
  const file = join(home, '.codex/sessions/2026/11/29', `rollout-2026-11-29T11-53-42-${thread}.jsonl`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `not JSON\n${lines.flat().join('\n')}\n`)
}

const at = '2026-11-29T11:53:42.185000Z'
const rejected = 'patch rejected: writing outside of the project; rejected by user approval settings'
const router = `${at} ERROR codex_core::tools::router: error=${rejected}`
const violation = (reason: string, path: string): string =>
  `${at}  WARN codex_sandboxing::violation: recorded sandbox violation: resource=filesystem backend=linux_sandbox reason=${reason} path=${path}`

const readingOf = (...stderr: string[]): Transcript => {
  const start = codex.read(
    codex.emptyTranscript(),
    'stdout',
    JSON.stringify({ type: 'thread.started', thread_id: thread }),
  )
  return stderr.reduce((before, line) => codex.read(before, 'stderr', line).transcript, start.transcript)
}
const targetsOf = (reading: Transcript): (string | undefined)[] =>
  (codex.nameRefusals?.(reading, source) ?? reading).denials.map(({ target }) => target)

describe('a refusal that Codex prints without its path', () => {
  it('is named from the rejected patch, by the files outside of the workspace', () => {
    const input =
      '*** Begin Patch\n*** Update File: a.txt\n*** Add File: /far/made.txt\n+x\n*** Move to: ../b.txt\n*** End Patch\n'
    record(patch('c1', at, input, rejected))
    expect(targetsOf(readingOf(router))).toEqual(['/far/made.txt', '/b.txt'])
  })

  it.each([
    ['mkdir: cannot create directory ‘/far/d’: Read-only file system\n', '/far/d'],
    ["Error: EROFS: read-only file system, open '/far/x'\n    at Object.writeFileSync (node:fs:1:2)", '/far/x'],
    ["OSError: [Errno 30] Read-only file system: '/far/y z'\n", '/far/y z'],
    ['bash: line 1: /far/made.txt: Read-only file system\n', '/far/made.txt'],
    ["cp: cannot create regular file '/far/q': Read-only file system\n", '/far/q'],
  ])('is named from the answer of the blocked command: %s', (output, path) => {
    record(shell('c1', at, `Process exited with code 1\nOutput:\n${output}`))
    expect(targetsOf(readingOf(violation('read_only_file_system', 'unknown')))).toEqual([path])
  })

  it('has no path, and not that of the workspace, when the record tells none or there is no record', () => {
    record(shell('c1', at, 'Process exited with code 1\nOutput:\n/far/x: Permission denied\n'))
    expect(targetsOf(readingOf(violation('read_only_file_system', 'unknown')))).toEqual([undefined])
    rmSync(join(home, '.codex'), { recursive: true })
    expect(targetsOf(readingOf(router))).toEqual([undefined])
  })

  it('is one of a folder where the record names it, and else one of the sandbox', () => {
    const reading = readingOf(violation('operation_not_permitted', 'unknown'))
    const seen = () => codex.nameRefusals?.(reading, source).denials.map(({ kind, target }) => [kind, target])
    expect(seen()).toEqual([['tool', undefined]])
    record(shell('c1', at, "Process exited with code 1\nOutput:\ntouch: cannot touch '/far/x': Permission denied\n"))
    expect(seen()).toEqual([['filesystem', '/far/x']])
  })

  it('is not named by a call of an earlier launch in the same session', () => {
    const early = '2026-11-29T11:50:00.000Z'
    const adds = (path: string): string => `*** Add File: ${path}\n+x\n`
    record(patch('c1', early, adds('/first/a'), rejected), patch('c2', at, adds('/second/b'), rejected))
    expect(targetsOf(readingOf(router))).toEqual(['/second/b'])
  })

  it('is about no path where the sandbox lets no patch write', () => {
    record(patch('c1', at, '*** Add File: a.txt\n+x\n', 'patch rejected: writing is blocked by read-only sandbox'))
    const line = `${at} ERROR codex_core::tools::router: error=patch rejected: writing is blocked by read-only sandbox; x`
    expect(targetsOf(readingOf(line))).toEqual([undefined])
  })

  it('does not take a patch that was applied, nor change a refusal that has its path', () => {
    record(patch('c1', at, '*** Add File: /far/made.txt\n+x\n', 'Success. Updated the following files'))
    expect(targetsOf(readingOf(router, violation('read_only_file_system', '/far/rl.txt')))).toEqual([
      undefined,
      '/far/rl.txt',
    ])
  })
})
