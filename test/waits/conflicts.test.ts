/**
 * Six tasks of three goals that change the same line of one file, while their user commits to it as well. Conflicts are solved by tasks
 * of their own; where one is not solved, the work is done again, and only what fails then is a question.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExplainView, GoalView, TaskView } from '../../src/api/contract.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const git = (root: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: root, encoding: 'utf8' }).trim()

/**
 * Adds its name to the line, together with whatever is there. `conflict`: what it does with conflict markers; `again`: what it does when
 * it has to do the task a second time.
 */
const editor = (name: string, { conflict = 'solve', again = 'do' } = {}): FaultAgent => ({
  driver: 'command',
  program: `
    const prompt = args.at(-1)
    const text = readFileSync('list.txt', 'utf8')
    const isFix = prompt.includes('## Conflict')
    put('TOP/prompt-${name}-' + (isFix ? 'fix' : 'task') + '-' + count('TOP/count-${name}' + (isFix ? '-fix' : '')), prompt)
    if (isFix) {
      if ('${conflict}' !== 'solve') process.exit(0)
      const solved = text.replace(/<{7}[^\\n]*\\n([^]*?)={7}\\n([^]*?)>{7}[^\\n]*\\n/g, (_all, ours, theirs) =>
        [...new Set([...ours.trim().split(' '), ...theirs.trim().split(' ')])].join(' ') + '\\n')
      put('list.txt', solved)
    } else {
      if ('${again}' !== 'do' && readFileSync('TOP/count-${name}', 'utf8') !== '1') process.exit(1)
      const lines = text.split('\\n')
      lines[4] += ' ${name}'
      put('TOP/begun-${name}', '')
      const ends = Date.now() + 100_000
      while (!existsSync('TOP/go') && Date.now() < ends) await new Promise((next) => setTimeout(next, 20))
      writeFileSync('list.txt', lines.join('\\n'))
    }`,
})

const list = Array.from({ length: 9 }, (_value, index) => `line ${index}`).join('\n')
const check = `if (require('node:fs').readFileSync('list.txt', 'utf8').split('\\n').length !== 9) process.exit(1)`

const names = ['a', 'b', 'c', 'e', 'f', 'h']
const goalsOf = [names.slice(0, 3), names.slice(3, 5), names.slice(5)]
const agents = Object.fromEntries(names.map((name) => [name, editor(name)]))
agents['c'] = editor('c', { conflict: 'leave' })
agents['f'] = editor('f', { conflict: 'leave', again: 'fail' })

let scene: Scene
const goals: string[] = []

const commitByHand = (path: string, text: string): void => {
  writeFileSync(join(scene.root, path), text)
  git(scene.root, 'add', path)
  git(scene.root, 'commit', '-qm', `By hand: ${path}`)
}

const onMain = (path: string): string => git(scene.root, 'show', `main:${path}`)

beforeAll(async () => {
  scene = await openScene(
    agents,
    { maxParallel: names.length, requeue: { inPlaceLimit: 1, reworkDepth: 1, blockedSeconds: 1, failedSeconds: 1 } },
    { files: { 'list.txt': list, 'check.js': check } },
  )
  for (const harness of goalsOf) {
    const tasks = harness.map((name) => ({ harness: name, title: `Add ${name}` }))
    goals.push(await scene.goal(tasks, { autoMerge: true }))
  }
  await scene.waitFor('all have begun', async () =>
    names.every((name) => existsSync(join(scene.top, `begun-${name}`))) ? true : undefined,
  )
  commitByHand('list.txt', list.replace('line 4', 'line 4 hand'))
  writeFileSync(join(scene.top, 'go'), '')
}, 200_000)
afterAll(() => scene.clear())

const tasksOf = async (goal: string): Promise<TaskView[]> => (await scene.get<GoalView>(`/goals/${goal}`)).tasks

describe('six tasks that change one line', { timeout: 400_000 }, () => {
  it('all land, but for the one whose conflict nobody solves, which is one question', async () => {
    for (const goal of goals) await scene.until(goal, 'done', 'awaiting_human', 'failed')
    const questions = await scene.questions()
    expect(questions.map(({ question }) => question)).toEqual([expect.stringContaining('Add f')])
    const left = (await Promise.all(goals.map(tasksOf))).flat().find(({ place }) => place === 'blocked(awaiting_human)')
    expect(left?.title).toContain('Add f')
    const words = onMain('list.txt').split('\n')[4]?.split(' ') ?? []
    expect(words).toContain('hand')
    // The goal of the one that is asked about has not landed.
    for (const name of [...(goalsOf[0] ?? []), ...(goalsOf[2] ?? [])]) expect(words).toContain(name)
    expect(onMain('list.txt')).not.toMatch(/<{7}|>{7}/)
    expect(git(scene.root, 'rev-list', '--merges', 'main')).toBe('')
  })

  it('tell what happened to each conflict', async () => {
    const all = (await Promise.all(goals.map(tasksOf))).flat()
    const storyOf = async (title: string): Promise<string> => {
      const id = all.find((task) => task.title === title)?.id ?? ''
      return (await scene.get<ExplainView>(`/explain/${id}`)).lines.map(({ text }) => text).join('\n')
    }
    const left = all.flatMap(({ title, place }) => (place === 'cancelled' && /^Add [^cf]$/.test(title) ? [title] : []))
    for (const title of left)
      expect(await storyOf(title)).toMatch(
        /the work cannot land as it is: conflicting paths: list\.txt; task \d+ corrects it\n[^]*task \d+ solves the conflict in a workspace that has both sides: conflicting paths: list\.txt\n[^]*task \d+ corrected the work/,
      )
    expect(await storyOf('Add c')).toMatch(
      /task \d+ solves the conflict[^]*the recovery did not help: task \d+ ended without a result[^]*the task starts over on the newer base/,
    )
    const fixOfC = all.find(({ title }) => /^\[AutoFix-Conflict\] PR #\d+: Add c$/.test(title))
    expect(await storyOf(fixOfC?.title ?? '')).toMatch(
      /conflict markers are left in list\.txt[^]*the recovery did not help: conflict markers are still in list\.txt/,
    )
  })
})
