/**
 * A scripted coding agent that does the right work except for one fault per task. It corrects what its prompt reports and nothing
 * else. With `-p` it prints Claude's stream-json, else it is a plain command whose last argument is the prompt.
 * Usage: agent.ts --jobs FILE --memory DIR [-p PROMPT … [--resume ID] | PROMPT]
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { valueOf } from '../../sim/agents/scripted-work.ts'
import { claudeSession, printJsonLine } from '../../sim/agents/lines.ts'
import { beganFile, goFile, launchesFile, type ScriptedChange, type AgentFault, type Job } from './job.ts'

if (process.argv.includes('--version')) {
  process.stdout.write('2.1.197 (Claude Code)\n')
  process.exit(0)
}

const memory = valueOf('--memory') ?? '.'
const jobs = JSON.parse(readFileSync(valueOf('--jobs') ?? '', 'utf8')) as Job[]
const resumed = valueOf('--resume')
const said = valueOf('-p')
const prompt = said ?? process.argv.at(-1) ?? ''
const sessionId = resumed ?? randomUUID()
const claude = said === undefined ? undefined : claudeSession(sessionId, process.cwd())

/** A resumed session knows its task from before. Undefined = the prompt asks something else. */
const jobOf = (): Job | undefined => {
  const sessions = join(memory, `session-${sessionId}`)
  const known = existsSync(sessions) ? readFileSync(sessions, 'utf8') : undefined
  const found = jobs.find(({ match }) => match === known) ?? jobs.find(({ match }) => prompt.includes(match))
  if (found !== undefined) writeFileSync(sessions, found.match)
  return found
}

const end = (text: string): void => {
  if (claude === undefined) process.stdout.write(`${text}\n`)
  claude?.say(text)
  claude?.done(text)
}

/** When it is asked for a check that can run, it names the project's own, like a model that has read the scripts. */
const answerOther = (): never => {
  claude?.init()
  end(prompt.includes('Name one command') ? 'npm test' : 'I do not know.')
  process.exit(0)
}

const job = jobOf() ?? answerOther()
const key = job.match.replaceAll(/\W+/g, '-')

const launchNumber = (): number => {
  const path = join(memory, `${key}.${launchesFile}`)
  appendFileSync(path, `${new Date().toISOString()} ${JSON.stringify(prompt.slice(-4000))}\n`)
  return readFileSync(path, 'utf8').trim().split('\n').length
}

const firstAt = (): number => {
  const path = join(memory, `${key}.first`)
  if (!existsSync(path)) writeFileSync(path, String(Date.now()))
  return Number(readFileSync(path, 'utf8'))
}

const changed = ({ before, after }: ScriptedChange, text: string): string => {
  if (before === undefined) return after
  if (text.includes(after)) return text
  if (!text.includes(before)) throw new Error('the text to change does not exist')
  return text.replace(before, () => after)
}

const make = (change: ScriptedChange): void => {
  const text = existsSync(change.path) ? readFileSync(change.path, 'utf8') : ''
  const call = claude?.write(change.path, change.after)
  mkdirSync(dirname(change.path), { recursive: true })
  writeFileSync(change.path, changed(change, text))
  if (call !== undefined) claude?.answered(call, `File created successfully at: ${change.path}`)
}

const workRight = (): void => {
  job.right.forEach(make)
  end('The work is done.')
}

const fail = (text: string, code = 1): void => {
  process.stderr.write(`${text}\n`)
  process.exitCode = code
}

const overloaded = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'

const refuseOverloaded = (): void => {
  if (claude === undefined) return fail(`API Error: 529 ${overloaded}`)
  for (const attempt of [1, 2]) claude.retrying(attempt, 529)
  claude.refusedByServer(`API Error: 529 ${overloaded}`, 529)
  process.exitCode = 1
}

/** A time of day without seconds, as CLIs print it. */
const clock = (at: Date): string => {
  const hours = at.getUTCHours()
  return `${hours % 12 === 0 ? 12 : hours % 12}:${String(at.getUTCMinutes()).padStart(2, '0')}${hours < 12 ? 'am' : 'pm'}`
}

const refuseLimited = (resetsAt: number): void => {
  const text = `You've hit your limit · resets ${clock(new Date(resetsAt))} (UTC)`
  if (claude === undefined) return fail(text)
  const limit = { status: 'rejected', resetsAt: Math.ceil(resetsAt / 1000), rateLimitType: 'five_hour' }
  printJsonLine({ type: 'rate_limit_event', rate_limit_info: limit, session_id: sessionId, uuid: randomUUID() })
  claude.refusedByServer(text, 429, 'rate_limit')
  process.exitCode = 1
}

const isOver = (): boolean => Date.now() >= firstAt() + (job.seconds ?? 0) * 1000

const stay = (): void => void setInterval(() => {}, 1000)

const crash = (text: string, code = 1): void => {
  const [first] = job.right
  if (first !== undefined) make(first)
  fail(text, code)
}

/** One process like those that tools leave running, and one that cleared its environment and arguments. */
const leaveProcesses = (): void => {
  const text = 'setTimeout(() => {}, 600_000)'
  for (const env of [process.env, { PATH: process.env['PATH'] }])
    spawn(process.execPath, ['-e', text], { detached: true, stdio: 'ignore', env }).unref()
  workRight()
}

const waitForUser = async (): Promise<void> => {
  writeFileSync(join(memory, beganFile), '')
  const deadline = performance.now() + 60_000
  while (!existsSync(join(memory, goFile)) && performance.now() < deadline) await delay(50)
  workRight()
}

const workStray = (told: boolean): void => {
  const path = job.file ?? ''
  if (told) rmSync(path, { force: true })
  else make({ path, after: 'Only notes of mine.\n' })
  workRight()
}

const isTold = (): boolean => job.told !== undefined && prompt.includes(job.told)

const workWrong = (): void => {
  job.wrong?.forEach(make)
  end('The work is done.')
}

const workOrTold = (): void => {
  const path = join(memory, `${key}.told`)
  if (isTold()) writeFileSync(path, '')
  if (existsSync(path)) workRight()
  else workWrong()
}

const deleteTest = (): void => {
  rmSync(job.file ?? '', { force: true })
  workWrong()
}

const odd = 'something odd happened'

/** What the launch with this number does. */
const plays: Record<AgentFault, (launch: number) => void | Promise<void>> = {
  none: workRight,
  'crash once': (launch) => (launch === 1 ? crash(odd) : workRight()),
  'crash always': () => crash(odd),
  'unknown exit once': (launch) => (launch === 1 ? crash(odd, 9) : workRight()),
  overload: () => (isOver() ? workRight() : refuseOverloaded()),
  limit: () => (isOver() ? workRight() : refuseLimited(firstAt() + (job.seconds ?? 0) * 1000)),
  'hang once': (launch) => (launch === 1 ? stay() : workRight()),
  'wrong first': workOrTold,
  'stray file': () => workStray(isTold()),
  'nothing once': (launch) => (launch === 1 ? end('All done.') : workRight()),
  'never right': workWrong,
  'deletes the test': deleteTest,
  'leaves processes': leaveProcesses,
  'waits for the user': waitForUser,
  'not now once': (launch) => (launch === 1 ? end('I cannot do this now, please try again later.') : workRight()),
}

claude?.init()
await plays[job.fault](launchNumber())
