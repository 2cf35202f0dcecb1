/**
 * How far a run may widen its own allowed paths: the mode, the rules and the lists of `.unstuck/policy-recovery.json`, with the
 * built-in values. Read by `policy-recovery-file.ts`, never from an agent's workspace. Pure.
 */
import { z } from 'zod'
import { commandNamesOf } from './command-names.ts'
import { unsafeBecause } from './path-safety.ts'
import { secretRuleFor } from './secrets.ts'

export const recoveryModes = ['conservative', 'balanced', 'aggressive'] as const
export type RecoveryMode = (typeof recoveryModes)[number]

/** A command whose program is one of the names in `pattern` may need these files. */
export interface CommandPathRule {
  /** Names of programs, separated by `|`. */
  pattern: string
  /** A name without a slash is a file in the folder where the command works, any other path starts at the top. `x/` is a folder. */
  paths: string[]
}

export interface PolicyRecovery {
  mode: RecoveryMode
  commandDrivenAllowedPathRules: CommandPathRule[]
  /** Words that show that a task concerns the build. See `infra-signals.ts` for when a word counts. */
  infraSignalTokens: string[]
  /** Compared exactly, also in case. */
  safeInfraFileBasenames: string[]
  safeInfraFileExtensions: string[]
  /** Names with a leading dot that are allowed at the top of the repository. */
  safeHiddenRootFiles: string[]
}

const rule = (pattern: string, ...paths: string[]): CommandPathRule => ({ pattern, paths })

const defaultRules: readonly CommandPathRule[] = [
  rule('make', 'Makefile'),
  rule('cmake', 'CMakeLists.txt'),
  rule('ninja', 'build.ninja'),
  rule('cargo', 'Cargo.toml', 'Cargo.lock'),
  rule('go', 'go.mod', 'go.sum'),
  rule(
    'gradle|gradlew',
    ...['build.gradle', 'build.gradle.kts', 'settings.gradle', 'settings.gradle.kts', 'gradle.properties'],
  ),
  rule('mvn|mvnw|maven', 'pom.xml'),
  rule('bazel|bazelisk', 'WORKSPACE', 'WORKSPACE.bazel', 'MODULE.bazel', 'BUILD.bazel'),
]

export const defaultPolicyRecovery: PolicyRecovery = {
  mode: 'aggressive',
  commandDrivenAllowedPathRules: [...defaultRules],
  infraSignalTokens: [
    ...['make', 'cmake', 'ninja', 'cargo', 'gradle', 'mvn', 'meson', 'gcc', 'clang', 'ld', 'objdump', 'readelf'],
    ...['build', 'compile', 'link', 'toolchain', 'bootstrap', 'setup'],
  ],
  safeInfraFileBasenames: defaultRules.flatMap(({ paths }) => paths),
  safeInfraFileExtensions: ['.ld', '.lds'],
  safeHiddenRootFiles: ['.gitignore', '.env.example'],
}

const maxEntries = 1000

const list = <T extends z.ZodType>(item: T, error: string) =>
  z.array(item, { error: `allowed: ${error}` }).max(maxEntries, { error: `allowed: at most ${maxEntries} entries` })

const text = (allowed: string, accepts: (value: string) => boolean) =>
  z.string({ error: `allowed: ${allowed}` }).refine(accepts, { error: `allowed: ${allowed}` })

const isFileName = (value: string): boolean => !value.includes('/') && unsafeBecause(value) === undefined

const pattern = text(
  'names of programs, separated by "|" ("gradle|gradlew"); other regular expressions are not supported',
  (value) => commandNamesOf(value) !== undefined,
)

const rulePath = z.string({ error: 'allowed: a path inside the repository' }).superRefine((value, context) => {
  const path = value.replace(/\/$/, '')
  const unsafe = unsafeBecause(path)
  const secret = unsafe === undefined ? secretRuleFor(path) : undefined
  const problem = unsafe ?? (secret === undefined ? undefined : `it is a secret (${secret})`)
  if (problem !== undefined)
    context.addIssue({ code: 'custom', message: `${problem}; allowed: a file, or a folder with "/" at its end` })
})

const ruleSchema = z.strictObject(
  {
    pattern: pattern.meta({
      description: 'Names of programs, separated by "|". Compared with the program of a command.',
    }),
    paths: list(rulePath, 'a list of paths')
      .min(1, { error: 'allowed: at least one path' })
      .meta({ description: 'Files that such a command may need. "x/" is a folder.' }),
  },
  { error: 'allowed: an object with "pattern" and "paths"' },
)

const fileName = text('the name of a file, without a folder', isFileName)
const word = text('a word without spaces', (value) => /^[\p{L}\p{N}][\p{L}\p{N}._+-]{0,63}$/u.test(value))
const extension = text('the extension of a file, such as ".ld"', (value) =>
  /^\.?[A-Za-z0-9][A-Za-z0-9_+-]*(?:\.[A-Za-z0-9_+-]+)*$/.test(value),
)

const modeError = `allowed: ${recoveryModes.map((mode) => `"${mode}"`).join(', ')}`

/** One layer: all keys are optional. */
export const policyRecoverySchema = z.strictObject({
  $schema: z.string({ error: 'allowed: the address of the schema' }).exactOptional(),
  mode: z.enum(recoveryModes, { error: modeError }).exactOptional().meta({
    description:
      'What is allowed without a question: "conservative" the files that the task lists as context, "balanced" also build files, "aggressive" (default) also files that the commands of the task need.',
  }),
  replaceDefaultCommandDrivenAllowedPathRules: z
    .boolean({ error: 'allowed: true or false' })
    .exactOptional()
    .meta({ description: 'Use only the rules of this file instead of adding them to the built-in ones.' }),
  commandDrivenAllowedPathRules: list(ruleSchema, 'a list of rules')
    .exactOptional()
    .meta({ description: 'Files that a command of the task may need.' }),
  infraSignalTokens: list(word, 'a list of words')
    .exactOptional()
    .meta({ description: 'Further words that show that a task concerns the build.' }),
  safeInfraFileBasenames: list(fileName, 'a list of file names')
    .exactOptional()
    .meta({ description: 'Further names of build files, exact in case.' }),
  safeInfraFileExtensions: list(extension, 'a list of extensions')
    .exactOptional()
    .meta({ description: 'Further extensions of build files.' }),
  safeHiddenRootFiles: list(fileName, 'a list of file names')
    .exactOptional()
    .meta({ description: 'Further hidden files that are allowed at the top of the repository.' }),
})

export type PolicyRecoveryLayer = z.output<typeof policyRecoverySchema>

/** The keys that are allowed at a path of the file, for the suggestion in an error. */
export const policyRecoveryKeysAt = (path: readonly PropertyKey[]): string[] =>
  Object.keys(path.length === 0 ? policyRecoverySchema.shape : ruleSchema.shape).filter((key) => key !== '$schema')

/** The JSON Schema that is published; `scripts/generate.ts` writes it to schema/policy-recovery.schema.json. */
export const policyRecoveryJsonSchema = (): Record<string, unknown> => ({
  ...(z.toJSONSchema(policyRecoverySchema, { target: 'draft-2020-12', io: 'input' }) as Record<string, unknown>),
  title: 'Policy recovery of a repository',
})

const union = (base: readonly string[], more: readonly string[] = []): string[] => [...new Set([...base, ...more])]

const isSameRule = (one: CommandPathRule, other: CommandPathRule): boolean =>
  one.pattern === other.pattern && one.paths.join('\n') === other.paths.join('\n')

const mergedRules = (base: readonly CommandPathRule[], layer: PolicyRecoveryLayer): CommandPathRule[] => {
  const kept = layer.replaceDefaultCommandDrivenAllowedPathRules === true ? [] : base
  const added = layer.commandDrivenAllowedPathRules ?? []
  const all = [...kept, ...added]
  return all.filter((each, index) => all.findIndex((other) => isSameRule(each, other)) === index)
}

/** Lists are unions. `replaceDefaultCommandDrivenAllowedPathRules` drops the rules of all layers below. */
export const mergePolicyRecovery = (base: PolicyRecovery, layer: PolicyRecoveryLayer): PolicyRecovery => ({
  mode: layer.mode ?? base.mode,
  commandDrivenAllowedPathRules: mergedRules(base.commandDrivenAllowedPathRules, layer),
  infraSignalTokens: union(
    base.infraSignalTokens,
    layer.infraSignalTokens?.map((token) => token.toLowerCase()),
  ),
  safeInfraFileBasenames: union(base.safeInfraFileBasenames, layer.safeInfraFileBasenames),
  safeInfraFileExtensions: union(
    base.safeInfraFileExtensions,
    layer.safeInfraFileExtensions?.map((each) => (each.startsWith('.') ? each : `.${each}`)),
  ),
  safeHiddenRootFiles: union(base.safeHiddenRootFiles, layer.safeHiddenRootFiles),
})
