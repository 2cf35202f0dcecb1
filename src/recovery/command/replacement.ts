/**
 * Finds another command that checks the same thing, for one that cannot run as written: a package script of the same purpose.
 * The replacement may check less than the requested command, so the verdict lists it. Pure.
 */
import { planCommand, type CommandStep } from './command-plan.ts'
import { packageScriptIn, type PackageManager } from './package-script.ts'

/** Purposes: the names of scripts that have one, and the scripts that may replace them, best first. */
const intents: readonly { asked: RegExp; scripts: readonly string[] }[] = [
  {
    asked: /^(?:tests?|unit|specs?|e2e|integration|jest|vitest|mocha|ava|verify|ci|check)(?:[:-].*)?$/,
    scripts: ['test', 'check'],
  },
  {
    asked: /^(?:lint|eslint|oxlint|biome|style|fmt|format|prettier)(?:[:-].*)?$/,
    scripts: ['lint', 'check'],
  },
  {
    asked: /^(?:types?|typecheck|type-check|check-types|tsc)(?:[:-].*)?$/,
    scripts: ['typecheck', 'type-check', 'check-types', 'types', 'tsc', 'check'],
  },
  { asked: /^(?:build|compile|bundle)(?:[:-].*)?$/, scripts: ['build', 'compile'] },
]

/** Whether a script or target of this name checks the work, instead of changing or publishing something. */
export const namesCheck = (name: string): boolean => intents.some(({ asked }) => asked.test(name))

/** Programs whose option `-w` is to wait for changes. */
export const watchers = ['ava', 'mocha', 'rollup', 'tap', 'tsc', 'vitest', 'webpack']

/** Programs that wait for changes and never end: a check of that kind runs out of its time on every commit. */
export const watches = new RegExp(
  [
    String.raw`(?:^|\s)--watch(?:All)?(?:\s|=true|$)`,
    String.raw`(?:^|[\s;&|/])(?:nodemon|chokidar|watchexec|entr)(?:\s|$)`,
    String.raw`(?:^|[\s/])(?:${watchers.join('|')})(?:\s[^&|;]*)?\s-w(?:\s|$)`,
    String.raw`(?:^|[\s/])vitest\s+(?:watch|dev)(?:\s|$)`,
  ].join('|'),
)

/** Whether a script really checks: it is not a placeholder, does not fix the code that it should check, and ends. */
export const isRealCheck = (script: unknown): script is string =>
  typeof script === 'string' &&
  script.trim() !== '' &&
  !/no test specified/i.test(script) &&
  !/(^|\s)--(fix|write)(\s|=|$)/.test(script) &&
  !watches.test(script)

/** A word, quoted for a POSIX shell if necessary. */
export const shellQuoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

const stepText = ({ argv, env }: CommandStep): string =>
  [...Object.entries(env).map(([name, value]) => `${name}=${shellQuoted(value)}`), ...argv.map(shellQuoted)].join(' ')

/** The command line whose plan is exactly these steps. */
export const commandText = (steps: readonly CommandStep[]): string => {
  let moved = 0
  return steps
    .flatMap((step) => {
      const moves = step.cwd.slice(moved).map((folder) => `cd ${shellQuoted(folder)}`)
      moved = step.cwd.length
      return [...moves, stepText(step)]
    })
    .join(' && ')
}

const directoryOption: Record<PackageManager, string> = { npm: '--prefix', pnpm: '--dir', yarn: '--cwd', bun: '--cwd' }

type Scripts = Readonly<Record<string, unknown>>

/**
 * `command` with the script `missing` replaced by one of the same purpose. The replacement must be unchanged since the base
 * commit, because the work must not be checked by its own script.
 */
export const replaceScript = (
  command: string,
  missing: string,
  { now, base }: { now: Scripts; base: Scripts },
): string | undefined => {
  const plan = planCommand(command)
  if (!plan.ok) return undefined
  const names = intents.filter(({ asked }) => asked.test(missing)).flatMap(({ scripts }) => scripts)
  const name = names.find((each) => Object.hasOwn(now, each) && isRealCheck(now[each]) && now[each] === base[each])
  if (name === undefined) return undefined
  const steps = plan.steps.map((step): CommandStep => {
    const script = packageScriptIn(step.argv)
    if (script?.script !== missing) return step
    const place = script.directory === undefined ? [] : [directoryOption[script.manager], script.directory]
    // Arguments after the name were meant for the missing script, so they are dropped.
    return { ...step, argv: [step.argv[0] ?? '', ...place, 'run', name] }
  })
  return commandText(steps)
}
