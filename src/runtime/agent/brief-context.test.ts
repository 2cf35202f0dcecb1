import { describe, expect, test } from 'vitest'
import { keysOfCommands, keysOfFailure } from '../../recovery/host-keys.ts'
import { failureLines, hostLines } from './brief-context.ts'
import { linesWithin } from './brief.ts'
import type { FailureDelta } from './failure-delta.ts'
import type { HostSnapshot } from './host-snapshot.ts'

const time = '2026-01-01T00:00:00.000Z'
const snapshot: HostSnapshot = {
  ...{ schemaVersion: 1, collectedAt: time, expiresAt: time, fingerprint: 'f' },
  host: {
    os: 'Ubuntu 24.04',
    kernel: 'Linux 6.8',
    arch: 'x86_64',
    shell: 'bash',
    cpu: 'Chip (2 cores)',
    memory: '8 GiB',
  },
  tools: { node: '24.1.0', npm: '11.2.0', git: '2.43.0' },
  neofetch: { available: false, checkedAt: time, info: {}, message: 'no' },
}
const system = 'System: Ubuntu 24.04, Linux 6.8, x86_64'
const told = (...commands: string[]): string[] => hostLines(snapshot, keysOfCommands(commands))

describe('the facts about the machine', () => {
  test('are those of the programs that the checks name', () => {
    expect(told()).toEqual([system])
    expect(told('npm test')).toEqual([system, 'Tools: node 24.1.0, npm 11.2.0', 'shell: bash'])
    expect(told('cd app && ./node_modules/.bin/vitest run')).toEqual([system, 'Tools: node 24.1.0', 'shell: bash'])
    expect(told('qemu-system-riscv64 -kernel k')).toEqual([
      ...[system, 'No usable version on the PATH: qemu', 'cpu: Chip (2 cores)', 'memory: 8 GiB'],
    ])
  })

  test('name a tool that is missing', () => {
    expect(told("sh -c 'docker compose up && npm test'")).toContain('No usable version on the PATH: docker')
  })

  test('are not chosen by a part of a word', () => {
    expect(keysOfCommands(['node_exporter --check', 'run-docker-free.sh', 'echo x > makefile'])).toEqual([])
  })

  test('of a failure are those of its label and of its command', () => {
    expect(keysOfFailure('out_of_memory', 'cargo test')).toEqual([
      ...['host.memory', 'host.cpu', 'tools.cargo', 'host.arch'],
    ])
    expect(keysOfFailure('port_in_use', null)).toEqual([])
  })
})

test('what helped is whole, even where the message of the failure has no room', () => {
  const entry = (n: number): FailureDelta['reasonSignatures'][number] => ({
    ...{
      signature: String(n),
      label: 'command_not_found',
      count: 2,
      lastSeenAt: time,
      addedKeys: [],
      command: 'npm test',
    },
    ...{ lastMessage: 'm'.repeat(180), curedBy: 'ran the proposed `apt install it`' },
  })
  const delta: FailureDelta = {
    ...{ schemaVersion: 1, updatedAt: time, expireAt: time, promotedKeys: [] },
    reasonSignatures: [1, 2, 3].map(entry),
  }
  const lines = linesWithin(failureLines(delta), 317).split('\n')
  expect(lines).toHaveLength(3)
  for (const line of lines)
    expect(line).toMatch(
      /^command_not_found in `npm test` \(x2\), what helped: ran the proposed `apt install it`\. It said: .*…$/,
    )
})
