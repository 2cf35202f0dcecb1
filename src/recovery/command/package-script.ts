/**
 * Reads from an argv which package.json script or make target it runs, to distinguish a missing script from a failing one. The
 * result is undefined in case of doubt, for example with an unknown option, because a wrong result would drop an existing
 * check.
 */
import { programOf } from './command-plan.ts'

export type PackageManager = 'npm' | 'pnpm' | 'yarn' | 'bun'

export interface PackageScript {
  manager: PackageManager
  script: string
  /** Folder of the package.json, relative to where the command runs. */
  directory?: string
  /** If the script does not exist, the manager starts an installed program of this name instead. */
  orProgram?: true
}

interface Manager {
  /** Options that set the folder; their value is the next argument or follows `=`. */
  directory: readonly string[]
  /** Options without a value that do not change which package is used. */
  flags: readonly string[]
  run: readonly string[]
  /** Subcommands that run the script of the given name. */
  shorthand: Readonly<Record<string, string>>
  /** The manager's own subcommands, for managers that treat every other word as the name of a script. */
  builtin?: readonly string[]
  runsPrograms: boolean
}

const wordsOf = (text: string): string[] => text.trim().split(/\s+/)

const common = ['--silent', '-s', '--if-present', '--ignore-scripts', '--color', '--no-color']
const lifecycle = { test: 'test', start: 'start', stop: 'stop', restart: 'restart' }

const managers: Readonly<Record<PackageManager, Manager>> = {
  npm: {
    directory: ['--prefix', '-C'],
    flags: [...common, '--foreground-scripts', '--quiet', '-q', '--no-audit', '--no-fund', '--offline'],
    run: ['run', 'run-script', 'rum', 'urn'],
    shorthand: { ...lifecycle, t: 'test', tst: 'test' },
    runsPrograms: false,
  },
  pnpm: {
    directory: ['-C', '--dir'],
    flags: [...common, '--stream', '--aggregate-output', '--offline'],
    run: ['run', 'run-script'],
    shorthand: { ...lifecycle, t: 'test', tst: 'test' },
    builtin: wordsOf(`
      add approve-builds audit bin bugs c cache cat-file cat-index ci completion config create dedupe deploy
      dislink dlx docs doctor edit env exec fetch find-hash fund get help i ignored-builds import info init
      install install-test it la licenses link list ll ln login logout ls m multi outdated pack patch
      patch-commit patch-remove ping prefix prune publish rb rebuild recursive remove rm root search self-update
      server set setup show store un uninstall unlink up update upgrade version view whoami why
    `),
    runsPrograms: true,
  },
  yarn: {
    directory: ['--cwd'],
    flags: [...common, '--offline', '--non-interactive'],
    run: ['run'],
    shorthand: {},
    builtin: wordsOf(`
      add audit autoclean bin cache check config constraints create dedupe dlx exec explain
      generate-lock-entry global help import info init install licenses link list login logout node npm outdated owner pack
      patch patch-commit plugin policies publish rebuild remove search set stage tag team unlink unplug up
      upgrade upgrade-interactive version versions why workspace workspaces
    `),
    runsPrograms: true,
  },
  bun: {
    directory: ['--cwd'],
    flags: ['--silent', '--if-present', '--bun', '-b'],
    run: ['run'],
    shorthand: {},
    // `bun test` always starts Bun's own test runner, even if the package has a script of that name.
    builtin: wordsOf(`
      a add audit build c ci completions create exec help i info init install link outdated patch patch-commit
      pm publish remove repl rm test uninstall unlink update upgrade why x
    `),
    runsPrograms: true,
  },
}

interface Scan {
  words: string[]
  directory?: string
}

/** npm accepts options after the script's name, too. Of these, only options that select another package matter. */
const isLateOption = (word: string, name: PackageManager, words: readonly string[]): boolean =>
  name === 'npm' &&
  words.length > (managers.npm.run.includes(words[0] ?? '') ? 1 : 0) &&
  !/^(-w|--workspace|--include-w|-g$|--global|--location)/.test(word)

/**
 * Separates words from options, up to the point where the script's own arguments begin: after `--` and, except for npm, after
 * the script's name. Undefined = an unknown option.
 */
const scan = (argv: readonly string[], name: PackageManager): Scan | undefined => {
  const manager = managers[name]
  const result: Scan = { words: [] }
  for (let index = 1; index < argv.length; index += 1) {
    const word = argv[index] ?? ''
    const [option = '', ...rest] = word.split('=')
    if (word === '--') break
    if (!word.startsWith('-')) {
      result.words.push(word)
      if (name !== 'npm' && !manager.run.includes(word)) break
      continue
    }
    if (manager.directory.includes(option)) {
      if (rest.length === 0) index += 1
      const value = rest.length > 0 ? rest.join('=') : argv[index]
      if (value === undefined || value === '') return undefined
      result.directory = value
    } else if (!manager.flags.includes(word) && !isLateOption(word, name, result.words)) return undefined
  }
  return result
}

const isFile = (name: string): boolean => name.includes('/') || /\.[cm]?[jt]sx?$/.test(name)

/** The package.json script that the argv runs; undefined = none, or uncertain. */
export const packageScriptIn = (argv: readonly string[]): PackageScript | undefined => {
  const name = programOf(argv)
  if (name !== 'npm' && name !== 'pnpm' && name !== 'yarn' && name !== 'bun') return undefined
  const manager = managers[name]
  const found = scan(argv, name)
  const first = found?.words[0]
  if (found === undefined || first === undefined) return undefined
  const place = found.directory === undefined ? {} : { directory: found.directory }
  const shorthand = Object.hasOwn(manager.shorthand, first) ? manager.shorthand[first] : undefined
  if (shorthand !== undefined) return { manager: name, script: shorthand, ...place }
  const explicit = manager.run.includes(first)
  if (!explicit && (manager.builtin === undefined || manager.builtin.includes(first))) return undefined
  const script = explicit ? found.words[1] : first
  if (script === undefined || (name === 'bun' && isFile(script))) return undefined
  // `pnpm run x` only runs scripts. `pnpm x`, yarn and bun fall back to installed programs.
  const falls = manager.runsPrograms && !(name === 'pnpm' && explicit)
  return { manager: name, script, ...place, ...(falls ? { orProgram: true } : {}) }
}

export interface MakeTarget {
  targets: string[]
  directory?: string
  file?: string
}

const makeFlags =
  /^(-[bBeikLnpqrRsStvw]+|-[jl][\d.]*|--(always-make|keep-going|silent|quiet|no-print-directory|print-directory|jobs|jobs=\d+))$/

/** The targets that a `make` argv names; undefined = none (the default goal), or an unknown option. */
export const makeTargetsIn = (argv: readonly string[]): MakeTarget | undefined => {
  const program = programOf(argv)
  if (program !== 'make' && program !== 'gmake') return undefined
  const result: MakeTarget = { targets: [] }
  for (let index = 1; index < argv.length; index += 1) {
    const word = argv[index] ?? ''
    const valued = /^(?:(-C|-f)(.*)|(--directory|--file|--makefile)(?:=(.*))?)$/s.exec(word)
    if (valued !== null) {
      const attached = valued[2] || valued[4]
      if (!attached) index += 1
      const value = attached || argv[index]
      if (value === undefined) return undefined
      const isDirectory = (valued[1] ?? valued[3]) === '-C' || valued[3] === '--directory'
      // A second -C is relative to the first one, which a single folder cannot express.
      if (isDirectory && result.directory !== undefined) return undefined
      result[isDirectory ? 'directory' : 'file'] = value
    } else if (word === '-j' || word === '-l') {
      if (/^\d+$/.test(argv[index + 1] ?? '')) index += 1
    } else if (word.startsWith('-')) {
      if (!makeFlags.test(word)) return undefined
    } else if (!word.includes('=')) result.targets.push(word)
  }
  return result.targets.length === 0 ? undefined : result
}
