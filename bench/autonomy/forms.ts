/** The four ways to run the agent: two common shell loops, and Unstuck with two kinds of harness. */
import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FaultEnvironment, BenchTask } from './faults.ts'
import { writeFiles } from './project.ts'

export interface BenchCell extends FaultEnvironment {
  folder: string
  /** The environment of every process of the cell. */
  env: NodeJS.ProcessEnv
  tasks: BenchTask[]
  /** The agent as a plain command, without its prompt. */
  agent: string[]
  name: string
}

export interface FormResult {
  /** Whether it claims that the work is done. */
  claimsDone: boolean
  /** The number of questions; a loop that gives up counts as one. */
  questions: number
  /** Its last output, for `--verbose`. */
  said: string
}

export type Form = (cell: BenchCell, seconds: number) => Promise<FormResult>

interface Program {
  argv: string[]
  cell: BenchCell
  output: string
  seconds: number
}

/** Runs a program in the project and returns its exit status, or null after the time limit. */
const run = ({ argv: [program = '', ...rest], cell, output, seconds }: Program): Promise<number | null> => {
  const file = openSync(join(cell.folder, output), 'w')
  const child = spawn(program, rest, {
    ...{ cwd: cell.project, env: cell.env, detached: true },
    stdio: ['ignore', file, file],
  })
  closeSync(file)
  const timer = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), seconds * 1000)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => {
      clearTimeout(timer)
      resolve(code)
    })
  })
}

export const lastOf = (cell: BenchCell, output: string): string =>
  readFileSync(join(cell.folder, output), 'utf8').trim().slice(-600)

const promptOf = ({ title, paths, run: check }: BenchTask): string =>
  `${title}\n\nChange only ${paths}. It is checked by \`${check}\`.`

const commit = 'git add -A && { git commit -q -m "$title" || true; }'

/** Starts the agent until it succeeds, a limited number of times, because each launch would cost money. */
const plainLoop = `
n=0
until agent "$prompt"; do n=$((n + 1)); [ $n -lt 8 ] || exit 1; done
${commit}`

/** The same with a pause and a check, whose output becomes part of the next prompt. */
const pausedLoop = `
task=$prompt
for n in 1 2 3 4 5 6 7 8; do
  if said=$(agent "$prompt" 2>&1) && said=$(eval "$check" 2>&1); then ${commit}; exit 0; fi
  prompt=$(printf '%s\\n\\nThe last attempt failed:\\n%s' "$task" "$said")
  sleep 2
done
exit 1`

const loopOf =
  (body: string): Form =>
  async (cell, seconds) => {
    const quoted = cell.agent.map((text) => `'${text}'`).join(' ')
    const script = `agent() { ${quoted} "$1"; }\nprompt=$1 check=$2 title=$3\n${body}`
    const done: boolean[] = []
    for (const [index, task] of cell.tasks.entries()) {
      const argv = ['bash', '-c', script, 'loop', promptOf(task), task.run, task.title]
      done.push((await run({ argv, cell, output: `loop-${index}`, seconds })) === 0)
    }
    const claimsDone = done.every(Boolean)
    return { claimsDone, questions: claimsDone ? 0 : 1, said: lastOf(cell, 'loop-0') }
  }

const checklist = (tasks: BenchTask[]): string =>
  tasks.map(({ title, paths, run: check }) => `- [ ] ${title}\n  - paths: ${paths}\n  - run: ${check}\n`).join('')

/** Time limits scaled down from hours to seconds. */
export const clocks = {
  retry: { transientBaseSeconds: 2, transientMaxSeconds: 8, quotaBaseSeconds: 5, quotaMaxSeconds: 20 },
  requeue: { failedSeconds: 2, blockedSeconds: 3 },
  stall: { silenceSeconds: 6, afterToolResultSeconds: 6, promptSeconds: 6, lingerSeconds: 5 },
}

const entry = join(import.meta.dirname, '..', '..', 'bin', 'unstuck.js')

export const unstuck = (cell: BenchCell, output: string, seconds: number, ...args: string[]): Promise<number | null> =>
  run({ argv: [process.execPath, entry, ...args], cell, output, seconds })

/** Work that changed what tests expect waits for the owner's `land` instead of a question: it counts as one. */
const questionsOf = async (cell: BenchCell): Promise<number> => {
  await unstuck(cell, 'events', 30, 'events', '--json')
  const types = readFileSync(join(cell.folder, 'events'), 'utf8').matchAll(
    /"type":"(?:escalation\.opened|goal\.not_landed)"/g,
  )
  return [...types].length
}

const unstuckWith =
  (harness: 'claude' | 'mine'): Form =>
  async (cell, seconds) => {
    const config = { harness: { default: harness, [harness]: { command: cell.agent } }, ...clocks }
    writeFiles(cell.project, { '.unstuck/config.json': JSON.stringify(config) })
    writeFiles(cell.folder, { 'tasks.md': checklist(cell.tasks) })
    const code = await unstuck(cell, 'run', seconds, 'run', join(cell.folder, 'tasks.md'), '--merge')
    const questions = await questionsOf(cell)
    await unstuck(cell, 'stop', 60, 'stop')
    return { claimsDone: code === 0, questions, said: lastOf(cell, 'run') }
  }

export const forms: Readonly<Record<string, Form>> = {
  loop: loopOf(plainLoop),
  'loop with feedback': loopOf(pausedLoop),
  'unstuck command': unstuckWith('mine'),
  'unstuck claude': unstuckWith('claude'),
}
