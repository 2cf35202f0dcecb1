/**
 * The scripted agent of the set: plays the turn whose condition holds. It speaks like Claude Code (`-p`), like Codex (`exec`) or
 * like a plain command whose last argument is the prompt, and answers read-only questions as its orders say.
 * Usage: player.ts --plays FILE --memory DIR --cli NAME …
 */
import { execFileSync, spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { claudeSession, codexTurn, printJsonLine } from '../../../sim/agents/lines.ts'
import { valueOf } from '../../../sim/agents/scripted-work.ts'
import { beganFile, goFile, launchesFile, type ScriptedChange } from '../job.ts'
import type { Act, End, Play, When } from './entry.ts'

const cli = valueOf('--cli') ?? 'command'
if (process.argv.includes('--version')) {
  process.stdout.write(cli === 'codex' ? 'codex-cli 0.900.0\n' : '2.1.197 (Claude Code)\n')
  process.exit(0)
}

const memory = valueOf('--memory') ?? '.'
const plays = JSON.parse(readFileSync(valueOf('--plays') ?? '', 'utf8')) as Play[]
const resumed = valueOf('--resume')
const prompt = valueOf('-p') ?? process.argv.at(-1) ?? ''
const sessionId = resumed ?? randomUUID()
const claude = cli === 'claude' ? claudeSession(sessionId, process.cwd()) : undefined

const say = (text: string): void => {
  if (cli === 'codex') codexTurn([{ path: 'src/slug.mjs', kind: 'update' }], text)
  else if (claude === undefined) process.stdout.write(`${text}\n`)
  else {
    claude.say(text)
    claude.done(text)
  }
}

/** Questions about paths, and about a check that can run, are told from a task by the words that only they have. */
const answerQuestion = (): void => {
  claude?.init()
  const about = plays.find(({ match }) => prompt.includes(match)) ?? plays[0]
  const named = Object.entries(about?.model ?? {}).filter(([path]) => prompt.includes(path))
  const decisions = named.map(([path, action]) => ({ path, action, reason: 'As the orders say.' }))
  if (prompt.includes('discard'))
    say(JSON.stringify({ decisions, summary: 'As the orders say.', confidence: decisions.length > 0 ? 0.9 : 0 }))
  else say(about?.check ?? (prompt.includes('Name one command') ? 'npm test' : 'I do not know.'))
}

const isQuestion =
  /^Question: /m.test(prompt) ||
  /"decisions"|\bdiscard\b[\s\S]*\bdeny\b|Name one command/.test(prompt) ||
  valueOf('--permission-mode') === 'plan'

/** A resumed session knows its task from before. */
const playFor = (): Play | undefined => {
  const path = join(memory, `session-${sessionId}`)
  const known = existsSync(path) ? readFileSync(path, 'utf8') : undefined
  const found = plays.find(({ match }) => match === known) ?? plays.find(({ match }) => prompt.includes(match))
  if (found !== undefined) writeFileSync(path, found.match)
  return found
}

const found = isQuestion ? undefined : playFor()
if (found === undefined) {
  answerQuestion()
  process.exit(0)
}
const play = found

interface Remembered {
  first: number
  prompts: string[]
  runs: string[]
}

const remember = (): Remembered => {
  const key = createHash('sha256').update(play.match).digest('hex').slice(0, 12)
  const path = join(memory, `${key}.remembered`)
  const before: Remembered = existsSync(path)
    ? (JSON.parse(readFileSync(path, 'utf8')) as Remembered)
    : { first: Date.now(), prompts: [], runs: [] }
  const run = process.env['UNSTUCK_RUN_DIR'] ?? ''
  const now = { ...before, prompts: [...before.prompts, prompt], runs: [...new Set([...before.runs, run])] }
  writeFileSync(path, JSON.stringify(now))
  appendFileSync(join(memory, `${key}.${launchesFile}`), `${new Date().toISOString()}\n`)
  return now
}

const known = remember()
const isWithin = (count: number, range: [number, number] | undefined): boolean =>
  range === undefined || (count >= range[0] && count <= range[1])
const wasTold = (pattern: string): boolean => known.prompts.some((text) => new RegExp(pattern).test(text))

const holds = ({ launches, runs, told, untold, untilSeconds, withoutArgument }: When): boolean =>
  isWithin(known.prompts.length, launches) &&
  isWithin(known.runs.length, runs) &&
  (told === undefined || wasTold(told)) &&
  (untold === undefined || !wasTold(untold)) &&
  (untilSeconds === undefined || Date.now() < known.first + untilSeconds * 1000) &&
  (withoutArgument === undefined || !process.argv.includes(withoutArgument))

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

const leaveProcess = (port: number | undefined): void => {
  const listening = port === undefined ? '' : `require('node:net').createServer().listen(${port}, '127.0.0.1');`
  const text = `${listening}setTimeout(() => {}, 600_000)`
  spawn(process.execPath, ['-e', text], { detached: true, stdio: 'ignore' }).unref()
}

const wait = async (): Promise<void> => {
  writeFileSync(join(memory, beganFile), '')
  const deadline = performance.now() + 60_000
  while (!existsSync(join(memory, goFile)) && performance.now() < deadline) await delay(50)
}

const meet = async (): Promise<void> => {
  const begun = (): number => readdirSync(memory).filter((name) => name.endsWith('.remembered')).length
  const deadline = performance.now() + 60_000
  while (begun() < plays.length && performance.now() < deadline) await delay(50)
}

const gitAs = ['-c', 'user.name=Agent', '-c', 'user.email=agent@localhost']

const perform = async (act: Act): Promise<void> => {
  if (act === 'right') play.right.forEach(make)
  else if (act === 'wrong') play.wrong.forEach(make)
  else if (act === 'wait') await wait()
  else if (act === 'meet') await meet()
  else if ('leave' in act) leaveProcess(act.port)
  else if ('change' in act) make(act.change)
  else if ('remove' in act) rmSync(act.remove, { recursive: true, force: true })
  else if ('git' in act) {
    if (act.in !== undefined) mkdirSync(act.in, { recursive: true })
    execFileSync('git', [...gitAs, ...act.git], { cwd: act.in ?? '.', stdio: 'ignore' })
  } else if ('node' in act) execFileSync(process.execPath, act.node, { stdio: 'ignore' })
  else if (!existsSync(act.link)) {
    mkdirSync(dirname(act.link), { recursive: true })
    symlinkSync(act.to, act.link)
  }
}

const stay = (): void => void setInterval(() => {}, 1000)

type Refusal = Extract<End, { refuse: string }>

/** A time of day without seconds, as CLIs print it. */
const clock = (at: Date): string => {
  const hours = at.getUTCHours()
  return `${hours % 12 === 0 ? 12 : hours % 12}:${String(at.getUTCMinutes()).padStart(2, '0')}${hours < 12 ? 'am' : 'pm'}`
}

const refuse = ({ refuse: text, status, error = 'server_error', reason, resetsIn }: Refusal): void => {
  const resetsAt = resetsIn === undefined ? undefined : known.first + resetsIn * 1000
  const full = resetsAt === undefined ? text : `${text} · resets ${clock(new Date(resetsAt))} (UTC)`
  process.exitCode = 1
  if (claude === undefined) return void process.stderr.write(`${full}\n`)
  if (resetsAt !== undefined) {
    const limit = { status: 'rejected', resetsAt: Math.ceil(resetsAt / 1000), rateLimitType: 'five_hour' }
    printJsonLine({ type: 'rate_limit_event', rate_limit_info: limit, session_id: sessionId, uuid: randomUUID() })
  }
  if (reason === undefined) return claude.refusedByServer(full, status, error)
  const ending = { subtype: 'success', is_error: true, api_error_status: status, num_turns: 1, result: full }
  printJsonLine({ type: 'result', ...ending, terminal_reason: reason, session_id: sessionId, uuid: randomUUID() })
}

const beDenied = (path: string): void => {
  const text = `Claude requested permissions to write to ${path}, but you haven't granted it yet.`
  const call = claude?.write(path, 'Notes.\n') ?? ''
  claude?.answered(call, text, true)
  claude?.say('I could not write the file.')
  const input = { file_path: path, content: 'Notes.\n' }
  claude?.done('I could not write the file.', [{ tool_name: 'Write', tool_use_id: call, tool_input: input }])
}

const toolResult = (): void => {
  const call = claude?.write('src/slug.mjs', 'x') ?? ''
  claude?.answered(call, 'File has not been read yet. Read it first before writing to it.', true)
}

const repeat = async (): Promise<void> => {
  for (let count = 0; count < 2000; count += 1) {
    toolResult()
    await delay(100)
  }
}

const conclude = async (end: End): Promise<void> => {
  if (end === 'silence') stay()
  else if (end === 'tool result then silence') {
    toolResult()
    stay()
  } else if (end === 'result then silence') {
    say('The work is done.')
    stay()
  } else if (end === 'same call again and again') await repeat()
  else if ('say' in end) say(end.say)
  else if ('signal' in end) process.kill(process.pid, end.signal)
  else if ('refuse' in end) refuse(end)
  else if ('denied' in end) beDenied(end.denied)
  else {
    process.stderr.write(`${end.text}\n`)
    process.exitCode = end.exit
  }
}

claude?.init()
const turn = play.turns.find(({ when }) => when === undefined || holds(when))
for (const act of turn?.acts ?? []) await perform(act)
await conclude(turn?.end ?? { say: 'The work is done.' })
