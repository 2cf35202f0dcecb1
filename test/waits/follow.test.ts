/** What `unstuck run` prints while a task is continued by one that did not exist when it began. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openScene } from '../hostile/scene.ts'

test('each line names its task, also one that was created on the way', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-follow-'))
  const program = join(folder, 'never-right.mjs')
  writeFileSync(program, `import { writeFileSync } from 'node:fs'; writeFileSync('made.txt', String(Math.random()))`)
  const user = await openScene(['never'], {
    commands: { never: [process.execPath, program] },
    config: {
      requeue: { failedSeconds: 0.1, blockedSeconds: 0.1, inPlaceLimit: 0, reworkDepth: 1 },
      playbooks: { disabled: ['check-feedback', 'fresh-feedback'] },
    },
  })
  try {
    const task = {
      id: '1',
      title: 'Make it',
      instructions: 'Make made.txt.',
      harness: 'never',
      commands: ['test -f never.txt'],
    }
    writeFileSync(join(folder, 'tasks.json'), JSON.stringify({ version: 1, goal: 'Make it', tasks: [task] }))
    const { stdout, stderr } = await user.cli('run', join(folder, 'tasks.json'))
    expect(stderr).toBe('')
    expect(stdout).toContain('task 2 continues this one from what it left')
    expect(stdout).toContain('task 2: attempt 1 started with never')
    expect(stdout).not.toContain('task ?')
  } finally {
    await user.clear()
    rmSync(folder, { recursive: true })
  }
})
