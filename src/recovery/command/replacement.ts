/**
 * Another command that checks the same thing, for one that cannot run as it stands: a package script of the same intent,
 * or the same script for fewer packages. It is weaker than what was asked for, so it is listed as a replacement. Pure.
 */
import { planCommand, type Step } from './plan.ts'
import { packageScript, type PackageManager } from './script.ts'

/** Intents by the names that scripts go by, and the scripts that may stand for them, best first. */
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

/** Whether a script or target by this name judges the work, rather than changing or publishing something. */
export const namesCheck = (name: string): boolean => intents.some(({ asked }) => asked.test(name))

/** A script that judges: it neither only says that there is nothing to run, nor mends what it should judge. */
export const judges = (script: unknown): script is string =>
  typeof script === 'string' &&
  script.trim() !== '' &&
  !/no test specified/i.test(script) &&
  !/(^|\s)--(fix|write)(\s|=|$)/.test(script)

/** A word as a POSIX shell reads it. */
export const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

const stepText = ({ argv, env }: Step): string =>
  [...Object.entries(env).map(([name, value]) => `${name}=${quoted(value)}`), ...argv.map(quoted)].join(' ')

/** The line that plans to exactly these steps. */
export const commandText = (steps: readonly Step[]): string => {
  let moved = 0
  return steps
    .flatMap((step) => {
      const moves = step.cwd.slice(moved).map((folder) => `cd ${quoted(folder)}`)
      moved = step.cwd.length
      return [...moves, stepText(step)]
    })
    .join(' && ')
}

const directoryOption: Record<PackageManager, string> = { npm: '--prefix', pnpm: '--dir', yarn: '--cwd', bun: '--cwd' }

type Scripts = Readonly<Record<string, unknown>>

/**
 * `command` with the script `missing` taken for one of the same intent. It must be the same in the base commit: what the
 * work wrote itself may not judge it.
 */
export const replaceScript = (
  command: string,
  missing: string,
  { now, base }: { now: Scripts; base: Scripts },
): string | undefined => {
  const plan = planCommand(command)
  if (!plan.ok) return undefined
  const names = intents.filter(({ asked }) => asked.test(missing)).flatMap(({ scripts }) => scripts)
  const name = names.find((each) => Object.hasOwn(now, each) && judges(now[each]) && now[each] === base[each])
  if (name === undefined) return undefined
  const steps = plan.steps.map((step): Step => {
    const script = packageScript(step.argv)
    if (script?.script !== missing) return step
    const place = script.directory === undefined ? [] : [directoryOption[script.manager], script.directory]
    // What stood behind the name were arguments of the script that is not there.
    return { ...step, argv: [step.argv[0] ?? '', ...place, 'run', name] }
  })
  return commandText(steps)
}
