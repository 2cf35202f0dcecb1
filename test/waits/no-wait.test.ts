/** `unstuck run --no-wait`, from the command line. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openScene } from '../hostile/scene.ts'

test('run --no-wait ends with 75 and the time instead of waiting for a limit', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-no-wait-'))
  const program = join(folder, 'limited.mjs')
  const lines = [
    { type: 'system', subtype: 'init', session_id: 's', cwd: '.', model: 'm' },
    { type: 'rate_limit_event', rate_limit_info: { status: 'rejected', resetsAt: Date.now() / 1000 + 3600 } },
    { type: 'result', subtype: 'success', is_error: true, api_error_status: 429, result: "You've hit your limit" },
  ]
  const print = lines.map((line) => `console.log(${JSON.stringify(JSON.stringify(line))})`)
  writeFileSync(program, [...print, 'process.exitCode = 1'].join('\n'))
  const user = await openScene(['worn'], {
    commands: { worn: [process.execPath, program] },
    drivers: { worn: 'claude' },
  })
  try {
    const first = await user.cli('run', 'Do the work', '--no-wait')
    expect([first.exitCode, first.stdout]).toEqual([
      75,
      expect.stringMatching(
        /worn is at its limit, which ends (?:on \w{3} \d+ \w{3} )?at \d\d:\d\d, in .*\n"unstuck status" shows the goal/,
      ),
    ])
    // The account is at its limit from the start.
    const second = await user.cli('run', 'Do more', '--no-wait', '--json')
    expect(second.exitCode).toBe(75)
    expect(JSON.parse(second.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({
      type: 'waiting',
      harness: 'worn',
    })
  } finally {
    await user.clear()
    rmSync(folder, { recursive: true })
  }
})
