/**
 * Runs real tools in small broken projects and compares the classifier's labels with what is really wrong there. Run by hand, not
 * in CI: `npm run corpus:live -- [tool or part of a command]`. Tools from the registry are installed into the cache folder on first
 * use, and cases of missing tools are listed as skipped. Exits with 1 when a label is wrong.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { planCommand } from '../src/recovery/command/command-plan.ts'
import { classify, type Classification } from '../src/recovery/diagnosis/classify.ts'
import type { LiveCase } from './live/case.ts'
import { shellCases } from './live/shell.ts'
import { systemCases } from './live/system.ts'
import { webCases } from './live/web.ts'

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'unstuck', 'corpus-live')
const corpusFile = join(import.meta.dirname, '..', 'test', 'fixture', 'corpus', 'failures-dev.jsonl')
const inCorpus = new Set(
  readFileSync(corpusFile, 'utf8')
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { tool: string }).tool),
)

const timeoutMs = 180_000
const install = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', '--loglevel=error']

/** Returns the folder with these packages, installed on first use, or undefined if the registry does not have them. */
const toolsOf = (packages: readonly string[]): string | undefined => {
  const folder = join(cache, packages[0]?.replace(/(?<=.)@.*$/, '').replace(/^.*\//, '') ?? '')
  const modules = join(folder, 'node_modules')
  if (existsSync(join(modules, '.bin'))) return modules
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  spawnSync('npm', [...install, ...packages], {
    cwd: folder,
    timeout: 2 * timeoutMs,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return existsSync(join(modules, '.bin')) ? modules : undefined
}

interface Ran {
  exitCode: number | null
  signal: string | null
  stdout: string
  stderr: string
}

const root = process.getuid?.() === 0
const nobody = 65_534
/** Programs that run the command under a limit. The classifier gets the command without them. */
const limits: Partial<Record<NonNullable<LiveCase['under']>, string[]>> = {
  'few files': ['prlimit', '--nofile=40:40', '--'],
  'little memory': ['prlimit', '--as=1500000000', '--'],
  'another user': ['setpriv', `--reuid=${nobody}`, '--regid=65534', '--clear-groups', '--'],
}

const environmentOf = (one: LiveCase, tools: string | undefined, folder: string): NodeJS.ProcessEnv => {
  const own = (process.env['PATH'] ?? '').split(':').filter((path) => !path.includes('node_modules'))
  return {
    // The Node of this process, because the machine's own may be too old for the tools.
    PATH: [...(tools === undefined ? [] : [join(tools, '.bin')]), dirname(process.execPath), ...own].join(':'),
    HOME: one.ownHome === true ? homedir() : dirname(folder),
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    ...(tools === undefined ? {} : { TOOLS: tools }),
    ...one.environment,
  }
}

/** Returns the result of the command, or why it did not finish. */
const run = (one: LiveCase, folder: string, env: NodeJS.ProcessEnv): Ran | string => {
  const plan = planCommand(one.command)
  // A command that needs a shell fails before it runs, and its command line is the evidence.
  if (!plan.ok) return { exitCode: null, signal: null, stdout: '', stderr: '' }
  const [step] = plan.steps
  const argv = [...((one.under && limits[one.under]) ?? []), ...(step?.argv ?? [])]
  const { status, signal, stdout, stderr, error } = spawnSync(argv[0] ?? '', argv.slice(1), {
    cwd: folder,
    env: { ...env, ...step?.env },
    timeout: timeoutMs,
    input: '',
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (error === undefined) return { exitCode: status, signal, stdout, stderr }
  return 'code' in error && error.code === 'ENOENT'
    ? 'not installed on this machine'
    : `did not finish: ${error.message}`
}

const prepare = (one: LiveCase, folder: string, env: NodeJS.ProcessEnv): void => {
  for (const [path, text] of Object.entries(one.files ?? {})) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  if (one.before !== undefined) spawnSync('bash', ['-c', one.before], { cwd: folder, env, stdio: 'ignore' })
}

/** Calls `work` with a folder of its own, on a disk of one megabyte if the case needs a full disk. */
const inFolder = <T>(one: LiveCase, work: (folder: string) => T): T => {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-live-')))
  const folder = join(top, 'app')
  mkdirSync(folder)
  if (one.under === 'another user') spawnSync('chmod', ['755', top, folder])
  const full = one.under === 'full disk'
  if (full) spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder])
  try {
    return work(folder)
  } finally {
    if (full) spawnSync('umount', ['--lazy', folder])
    rmSync(top, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
}

type Outcome = { one: LiveCase } & ({ skipped: string } | { ran: Ran; found: Classification; right: boolean })

const judge = (one: LiveCase): Outcome => {
  if (one.under !== undefined && one.under !== 'few files' && !root) return { one, skipped: `${one.under} needs root` }
  const tools = one.packages === undefined ? undefined : toolsOf(one.packages)
  if (one.packages !== undefined && tools === undefined) return { one, skipped: 'the registry does not have it' }
  return inFolder(one, (folder): Outcome => {
    const env = environmentOf(one, tools, folder)
    prepare(one, folder, env)
    const ran = run(one, folder, env)
    if (typeof ran === 'string') return { one, skipped: ran }
    const found = classify({ command: one.command, ...ran })
    return { one, ran, found, right: [one.expect].flat().includes(found.label) }
  })
}

const wanted = process.argv.slice(2)
const cases = [...systemCases, ...shellCases, ...webCases].filter(
  ({ tool, command }) => wanted.length === 0 || wanted.some((word) => tool === word || command.includes(word)),
)

const print = (text: string): void => void process.stdout.write(`${text}\n`)

const show = (outcome: Outcome): void => {
  const { one } = outcome
  const name = `${one.tool.padEnd(14)} ${one.command.slice(0, 60).padEnd(60)}`
  if ('skipped' in outcome) return print(`skip  ${name} ${outcome.skipped}`)
  const { found, ran, right } = outcome
  print(
    `${right ? 'ok   ' : 'WRONG'} ${name} ${found.label}${right ? '' : `, expected ${[one.expect].flat().join(' or ')}`}`,
  )
  if (right) return
  print(`      ${found.ruleId}: ${found.evidence.slice(0, 160)} (exit ${ran.exitCode ?? ran.signal})`)
  const said = `${ran.stderr}\n${ran.stdout}`.split('\n').filter((line) => line.trim() !== '')
  for (const line of said.slice(0, 25)) print(`      | ${line.slice(0, 200)}`)
}

const outcomes = cases.map((one) => {
  const outcome = judge(one)
  show(outcome)
  return outcome
})
const judged = outcomes.flatMap((outcome) => ('found' in outcome ? [outcome] : []))
const share = (some: typeof judged): string => `${some.filter(({ right }) => right).length} of ${some.length}`
const unseen = judged.filter(({ one }) => !inCorpus.has(one.tool))
print(
  `labels right: ${share(judged)}; of tools that the corpus lacks: ${share(unseen)}, ${new Set(unseen.map(({ one }) => one.tool)).size} tools`,
)
print(`skipped: ${outcomes.length - judged.length}`)
process.exitCode = judged.every(({ right }) => right) ? 0 : 1
