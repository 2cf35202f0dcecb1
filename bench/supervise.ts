/**
 * Measures the cost of supervision. Scanning: an agent's output passes through the shim (redacted, bounded, written) and the engine
 * (read from files, parsed by the driver), compared with `grep -E` for the same sentences over the same bytes. Target: the engine
 * reads at least 200 MB/s on one core, with constant memory over 1 GB. Relaunching: from the line that ends an agent to the first
 * instruction of its corrected relaunch, in the engine and in `unstuck exec`. Target: at most 100 ms; the agent ends by
 * itself here, so no grace period is included.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { claude } from '../src/harness/claude.ts'
import { codex } from '../src/harness/codex.ts'
import type { Driver } from '../src/harness/driver.ts'
import { createOutput } from '../src/process/output.ts'
import { createRedactor, secretValues } from '../src/process/redact.ts'
import { createSegmentLog } from '../src/process/segment-log.ts'
import { readSegments } from '../src/process/tail.ts'
import { triggerPhrases } from '../test/harness/trigger-phrases.ts'
import { median, printResult, runTimed } from './measure.ts'

const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'unstuck-bench-supervise-'))
const megabyte = 1_000_000
const logBytes = 64 * megabyte
const passes = 16
/** Processor time, which depends less on other load of the machine than elapsed time. */
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
const perSecond = (bytes: number, ms: number): number => bytes / megabyte / (ms / 1000)

/** Tool results of realistic lengths: from one line to the 30,000 characters at which CLIs cut. */
const prose = readFileSync(join(root, 'CHANGELOG.md'), 'utf8') + readFileSync(join(root, 'docs', 'recovery.md'), 'utf8')
const lengths = [80, 400, 2_000, 8_000, 30_000]
const answers = lengths.map((length) => prose.repeat(1 + length / prose.length).slice(0, length))

/** A recorded session with long tool results. */
const session = (recording: string): string => {
  const recorded = readFileSync(join(root, 'test', 'fixture', 'transcripts', `${recording}.stdout`), 'utf8')
  return answers
    .map((answer) =>
      recorded.replaceAll(/("(?:aggregated_output|stdout|content)":)"(?:[^"\\]|\\.)*"/g, `$1${JSON.stringify(answer)}`),
    )
    .join('')
}

/** A complete launch log, written as the shim writes it, in chunks of the size of a pipe. */
const writeLog = (dir: string, text: string): number => {
  mkdirSync(dir)
  const log = createSegmentLog(dir, 'stdout', 2 * logBytes)
  const redact = createRedactor(secretValues({ API_KEY: 'a-value-that-is-secret' }))
  const output = createOutput({ log, redact, lineMaxBytes: 1024 * 1024, secretMaxBytes: 4096 })
  const bytes = Buffer.from(text.repeat(Math.ceil(logBytes / Buffer.byteLength(text))))
  const begun = cpuMs()
  for (let at = 0; at < bytes.length; at += 65_536) output.push(bytes.subarray(at, at + 65_536))
  output.end()
  log.close()
  return perSecond(bytes.length, cpuMs() - begun)
}

/** Reads the files and parses them to the end; returns the number of bytes. */
const readLog = (dir: string, driver: Driver): number => {
  let reading = driver.emptyTranscript()
  for (let offset = 0; ;) {
    const part = readSegments(dir, 'stdout', offset)
    if (part.lines.length === 0) return offset
    for (const line of part.lines) reading = driver.read(reading, 'stdout', line).transcript
    offset = part.nextOffset
  }
}

const grep = async (dir: string): Promise<number> => {
  const patterns = join(folder, 'patterns')
  const escaped = triggerPhrases.flatMap((phrase) => phrase.split('\n')).filter((phrase) => phrase !== '')
  writeFileSync(
    patterns,
    `${[...new Set(escaped)].map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join('\n')}\n`,
  )
  const counted = `for f in ${join(dir, 'stdout-*')}; do grep -cEf ${patterns} "$f"; done | tail -n 1; times`
  const { stdout } = await runTimed(['sh', '-c', counted])
  // grep stops at the first match when its output is not read. The last line is the user and system time of the children, each as 0m1.250000s.
  const spent =
    stdout
      .trim()
      .split('\n')
      .at(-1)
      ?.matchAll(/(\d+)m([\d.]+)s/g) ?? []
  return [...spent].reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1000, 0)
}

const scan = async (driver: Driver, recording: string): Promise<void> => {
  const dir = join(folder, driver.name)
  const shim = writeLog(dir, session(recording))
  const bytes = readLog(dir, driver) // warms up
  const times: number[] = []
  const before = process.memoryUsage.rss()
  let most = before
  for (let pass = 0; pass < passes; pass += 1) {
    const begun = cpuMs()
    readLog(dir, driver)
    times.push(cpuMs() - begun)
    most = Math.max(most, process.memoryUsage.rss())
  }
  const mine = times.reduce((sum, ms) => sum + ms, 0) / passes
  const theirs = await grep(dir)
  printResult(`supervise scan ${driver.name}`, {
    readMBs: perSecond(bytes, mine),
    targetMBs: 200,
    totalMB: (bytes * passes) / megabyte,
    grownMB: (most - before) / megabyte,
    shimMBs: shim,
    grepMBs: perSecond(bytes, theirs),
    ratio: theirs / mine,
  })
  rmSync(dir, { recursive: true })
}

/** Refuses an untrusted folder as Codex does, unless the correction is given; records when it started and when it refused. */
const agentText = (log: string): string => `
const { appendFileSync, writeFileSync } = require('node:fs')
const note = (word, at) => appendFileSync(${JSON.stringify(log)}, word + ' ' + at + '\\n')
const cured = process.argv.includes('--skip-git-repo-check')
note(cured ? 'cured' : 'begun', performance.timeOrigin)
const line = (event) => process.stdout.write(JSON.stringify(event) + '\\n')
if (cured) {
  writeFileSync('made.txt', String(Date.now()))
  line({ type: 'thread.started', thread_id: '11111111-1111-4111-8111-111111111111' })
  line({ type: 'turn.started' })
  line({ type: 'item.completed', item: { id: 'item_0', type: 'agent_message', text: 'Made.' } })
  line({ type: 'turn.completed', usage: { input_tokens: 1, cached_input_tokens: 0, output_tokens: 1 } })
} else {
  note('fatal', performance.timeOrigin + performance.now())
  process.stderr.write('Not inside a trusted directory and --skip-git-repo-check was not specified.\\n')
  process.exitCode = 1
}
`

const rounds = 15

/** Milliseconds between each fatal line and the start of the next process. */
const gaps = (log: string): number[] => {
  const notes = readFileSync(log, 'utf8').trim().split('\n')
  return notes.flatMap((note, at) => {
    const [word, begun] = note.split(' ')
    const [before, fatal] = notes[at - 1]?.split(' ') ?? []
    return word === 'cured' && before === 'fatal' ? [Number(begun) - Number(fatal)] : []
  })
}

const relaunch = async (): Promise<void> => {
  const entry = join(root, 'bin', 'unstuck.js')
  const [repo, log, agent] = [join(folder, 'repo'), join(folder, 'times'), join(folder, 'agent.cjs')]
  const env = { ...process.env, UNSTUCK_HOME: join(folder, 'home'), XDG_CACHE_HOME: join(folder, 'cache') }
  mkdirSync(join(repo, '.unstuck'), { recursive: true })
  writeFileSync(agent, agentText(log))
  const harness = { default: 'codex', codex: { command: [process.execPath, agent] } }
  const config = { harness, verify: { commands: ['test -f made.txt'] } }
  writeFileSync(join(repo, '.unstuck', 'config.json'), JSON.stringify(config))
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-c', 'user.name=Bench', '-c', 'user.email=bench@localhost', ...args], { cwd: repo })
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-q', '-m', 'base')

  const measure = async (args: string[]): Promise<number> => {
    writeFileSync(log, '')
    for (let round = 0; round < rounds; round += 1)
      await runTimed([process.execPath, entry, ...args], { cwd: repo, env })
    const found = gaps(log)
    if (found.length !== rounds)
      throw new Error(`${found.length} of ${rounds} agents were launched again: ${args.join(' ')}`)
    return median(found)
  }
  const execMs = await measure([
    'exec',
    '--harness',
    'codex',
    '--json',
    '--',
    process.execPath,
    agent,
    'exec',
    '--json',
    'x',
  ])
  const engineMs = await measure(['run', 'Make the file', '--json'])
  await runTimed([process.execPath, entry, 'stop'], { cwd: repo, env })
  printResult('supervise relaunch', { execMs, engineMs, targetMs: 100 })
}

try {
  await scan(claude, 'claude/huge-output')
  await scan(codex, 'codex/huge-output')
  await relaunch()
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}
