/** What `unstuck run` prints while a task is continued by one that did not exist when it began, and while the judge is switched off. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openScene, until } from '../hostile/scene.ts'
import { isLongForm, shortened } from '../support/form.ts'

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

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))

const started = (user: Awaited<ReturnType<typeof openScene>>, ...args: string[]) => {
  const child = spawn(process.execPath, [entry, 'run', ...args], {
    ...{ cwd: user.root, env: user.environment, stdio: ['ignore', 'pipe', 'pipe'] },
  })
  const printed = { out: '', err: '' }
  child.stdout.on('data', (chunk) => (printed.out += String(chunk)))
  child.stderr.on('data', (chunk) => (printed.err += String(chunk)))
  return { child, closed: once(child, 'close'), printed }
}

test.runIf(isLongForm)('says what keeps a task from starting, once', async () => {
  const user = await openScene(['right'], {
    commands: { right: [process.execPath, '-e', '0'] },
    config: { admission: { minFreeDiskMb: 100_000_000 } },
  })
  try {
    const { child, closed, printed } = started(user, 'Do it')
    const said = /task 1: waiting for disk/g
    await until(async () => printed.out.match(said) ?? undefined, 'the reason')
    child.kill('SIGINT')
    await closed
    expect(printed.out.match(said)).toHaveLength(1)
  } finally {
    await user.clear()
  }
})

test.each(shortened([false, true], 1))('says once that the judge is off, and what to do (json: %s)', async (json) => {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-judge-off-'))
  const program = join(folder, 'right.mjs')
  writeFileSync(program, `import { writeFileSync } from 'node:fs'; writeFileSync('src/work.txt', 'done')`)
  const user = await openScene(['right'], { commands: { right: [process.execPath, program] } })
  try {
    const task = { id: '1', title: 'Do it', instructions: 'Write "done".', commands: ['node check.mjs'] }
    const file = join(folder, 'tasks.json')
    writeFileSync(file, JSON.stringify({ version: 1, goal: 'Two', tasks: [task, { ...task, id: '2' }] }))
    await user.api('/judge', { off: true, by: 'me' })
    const { closed, printed } = started(user, file, ...(json ? ['--json'] : []))
    const said = /task [12]: its work waits for its review, and the judge is off: unstuck resume --judge\n/g
    const place = json ? 'err' : 'out'
    await until(async () => printed[place].match(said) ?? undefined, 'the reason')
    await until(async () => {
      const tasks = (await user.status()).goals.flatMap((goal) => goal.tasks)
      return tasks.every(({ status }) => status === 'blocked(awaiting_judge)') ? tasks : undefined
    }, 'both tasks')
    await user.api('/judge', { off: false, by: 'me' })
    expect((await closed)[0]).toBe(0)
    expect(printed[place].match(said)).toHaveLength(1)
    if (!json) return
    for (const line of printed.out.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('type')
  } finally {
    await user.clear()
    rmSync(folder, { recursive: true })
  }
})
