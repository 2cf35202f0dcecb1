/**
 * Facts of a command line: which programs it starts (also through npx, sh -c, timeout and so on) and whether it builds, cleans
 * up or silently checks something. Reads text only.
 */
import { planCheck } from '../command/plan-check.ts'
import { planCommand, type CommandPlan } from '../command/command-plan.ts'

export interface CommandFacts {
  text: string
  plan: CommandPlan
  /** One argv for each started program, wrappers included. */
  argvs: string[][]
  /** Names without folder and version, e.g. `python` for /usr/bin/python3.12. */
  programs: string[]
}

const wrappers: Readonly<Record<string, number>> = {
  npx: 0,
  bunx: 0,
  env: 0,
  sudo: 0,
  nice: 0,
  nohup: 0,
  time: 0,
  exec: 0,
  command: 0,
  stdbuf: 0,
  xvfb: 0,
  timeout: 1,
  uvx: 0,
  pnpx: 0,
}
const runners = /^(?:npm|pnpm|yarn|bun|poetry|uv|pipenv|hatch|pdm|bundle|mise|rye) (?:exec|run|x|dlx)$/
export const shells = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh'])

export const programName = (word: string): string =>
  (word.split('/').pop() ?? word)
    .replace(/\.(?:exe|cmd|bat)$/, '')
    .replace(/^(python|pip|node|ruby|php|java|lua|perl|g\+\+|gcc|clang)-?\d[\d.]*$/, '$1')

const isOption = (word: string): boolean => word.startsWith('-') || /^[A-Za-z_]\w*=/.test(word)

const unwrap = (argv: string[]): string[][] => {
  const name = programName(argv[0] ?? '')
  if (shells.has(name)) {
    const at = argv.findIndex((word) => /^-[a-z]*c$/.test(word))
    const script = at === -1 ? undefined : argv[at + 1]
    return script === undefined ? [] : argvsOf(planCommand(script), script)
  }
  const skip = Object.hasOwn(wrappers, name) ? wrappers[name] : runners.test(`${name} ${argv[1] ?? ''}`) ? 1 : undefined
  if (skip !== undefined) {
    const rest = argv.slice(1)
    while (rest.length > 0 && isOption(rest[0] ?? '')) rest.shift()
    return [rest.slice(skip)]
  }
  // `python -m pytest` runs pytest; `node node_modules/x/bin/y.js` runs y.
  if (name === 'python' && argv[1] === '-m' && argv[2] !== undefined) return [argv.slice(2)]
  const script = argv[1] ?? ''
  return name === 'node' && script.includes('node_modules/')
    ? [[script.replace(/\.[cm]?js$/, ''), ...argv.slice(2)]]
    : []
}

const expand = (argv: string[], depth = 0): string[][] =>
  argv.length === 0 ? [] : [argv, ...(depth > 3 ? [] : unwrap(argv).flatMap((inner) => expand(inner, depth + 1)))]

/** If the line cannot be planned, splitting at white space still gives the programs. */
const argvsOf = (plan: CommandPlan, text: string): string[][] =>
  plan.ok
    ? plan.steps.map((step) => step.argv)
    : text
        .split(/&&|\|\||[;|\n]/, 20)
        .map((part) => part.trim().split(/\s+/))
        .filter((argv) => argv[0] !== '')

export const readCommand = (text: string): CommandFacts => {
  const plan = planCheck(text)
  const argvs = argvsOf(plan, text).flatMap((argv) => expand(argv))
  return { text, plan, argvs, programs: [...new Set(argvs.map((argv) => programName(argv[0] ?? '')))] }
}

const buildWords =
  /^(?:build|compile|bundle|package|dist|assemble|jar|bootJar|shadowJar|war|all|publish|install|make|generate|codegen|prepare|release|webpack|rollup|vite|esbuild)(?:[:-].*)?$/
const builders = new Set([
  'tsc',
  'webpack',
  'rollup',
  'vite',
  'esbuild',
  'tsup',
  'cmake',
  'ninja',
  'javac',
  'gcc',
  'cc',
  'clang',
  'rustc',
  'swiftc',
  'parcel',
  'meson',
  'bazel',
  'msbuild',
  'maturin',
])
const takesTarget = new Set([
  'make',
  'gmake',
  'npm',
  'pnpm',
  'yarn',
  'bun',
  'cargo',
  'go',
  'gradle',
  'gradlew',
  'mvn',
  'mvnw',
  'just',
  'task',
  'rake',
  'turbo',
  'nx',
  'dotnet',
  'next',
  'vite',
  'ninja',
  'python',
  'build',
  'poetry',
  'uv',
  'zig',
  'swift',
  'mix',
  'docker',
  'ng',
  'lerna',
  'sbt',
  'ant',
  'composer',
  'deno',
])

const argvBuilds = (argv: string[]): boolean => {
  const name = programName(argv[0] ?? '')
  const words = argv.slice(1).filter((word) => !word.startsWith('-'))
  if (argv.some((word) => /^--?(?:noEmit|no-emit|dry-run|list|check|help|version)$/.test(word))) return false
  if (words.some((word) => cleanWord.test(word))) return false
  if (name === 'make' || name === 'gmake') return words.length === 0 || words.some((word) => buildWords.test(word))
  if (name === 'cmake') return argv.includes('--build')
  if (argv.includes('--coverage')) return true
  if (builders.has(name)) return name !== 'vite' || words.includes('build')
  if (name === 'build' && argv.length === 1) return true
  if (/(?:^|[-_])build(?:\.\w+)?$/.test(name)) return true
  return (
    takesTarget.has(name) &&
    words.some((word) => buildWords.test(word)) &&
    !(/^(?:npm|pnpm|yarn|bun)$/.test(name) && words[0] === 'install')
  )
}

const cleanWord = /^(?:clean|clobber|distclean|purge)(?::.*)?$/

const argvCleans = (argv: string[]): boolean => {
  const name = programName(argv[0] ?? '')
  if (name === 'rm' || name === 'rimraf' || name === 'del-cli') return argv.length > 1
  return argv.slice(1).some((word) => cleanWord.test(word)) || /^clean(?:\.sh)?$/.test(name)
}

export const isBuild = (command: string): boolean => readCommand(command).argvs.some(argvBuilds)
export const isCleanUp = (command: string): boolean => readCommand(command).argvs.some(argvCleans)

const checkers = new Set([
  'test',
  '[',
  'ls',
  'stat',
  'grep',
  'egrep',
  'fgrep',
  'rg',
  'diff',
  'cmp',
  'jq',
  'file',
  'find',
])

/** Whether a silent failure of the command is a result: the tested condition is false. */
export const isSilentCheck = (facts: CommandFacts, exitCode: number | null): boolean => {
  const last = facts.argvs.at(-1) ?? []
  const name = programName(last[0] ?? '')
  if (checkers.has(name)) return exitCode === 1
  const asks = last.some((word) => word === '--exit-code' || word === '--quiet' || word === '-q')
  if (name === 'git' && last.includes('diff') && asks) return exitCode === 1
  const inline = /^-(?:e|c|p|pe|E)$|^--eval$|^--print$/
  return (
    /^(?:node|python|ruby|perl|php|bun|deno)$/.test(name) &&
    last.slice(1, 3).some((word) => inline.test(word) || word === 'eval')
  )
}

export const agentPrograms = new Set([
  'claude',
  'codex',
  'gemini',
  'opencode',
  'aider',
  'goose',
  'cursor-agent',
  'qwen',
  'amp',
  'copilot',
  'crush',
  'agent',
  'openhands',
  'cline',
])
