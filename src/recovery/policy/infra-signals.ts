/**
 * Which infra tokens a task really mentions. Most tokens are also English words ("Make the button blue", "Link the docs", "Build
 * the settings page"), so a token counts only where the text uses it for the tool or the build, in a sentence that forbids
 * nothing. Pure.
 */
import { planCommand } from '../command/command-plan.ts'
import { sentencesOf, type NamingTask } from '../named-by-task.ts'
import { commandNamesOf, isNamed } from './command-names.ts'
import type { PolicyRecovery } from './recovery-policy.ts'

export interface InfraText {
  title: string
  instructions: string
  commands: readonly string[]
}

type Words = Pick<PolicyRecovery, 'infraSignalTokens' | 'commandDrivenAllowedPathRules'>

export interface InfraSignals {
  /** Tokens that name a tool: the program of a command of the task, code in the text, or a word that only names the tool. */
  tools: string[]
  /** Tokens that name the build as a thing ("the build fails", "compile flags"). */
  build: string[]
  /** General tokens anywhere in the text. Weak: alone they prove nothing. */
  words: string[]
}

/** General words. Each says something about the build only together with other words. */
const general: ReadonlySet<string> = new Set(['build', 'compile', 'link', 'setup', 'bootstrap'])

/** Names of tools that are also English words. */
const english: ReadonlySet<string> = new Set([
  'make',
  'ninja',
  'cargo',
  'go',
  'just',
  'task',
  'rake',
  'ant',
  'maven',
  'bazel',
  'meson',
  'buck',
  'please',
])

const phrases: readonly RegExp[] = [
  /\b(?:the|this|our|broken|failing|failed|fix|repair|clean|release|debug|native|cross|ci|kernel|incremental)[ -](build)s?\b(?! (?:a|an|the|your|new)\b)/g,
  /\b(build)s? (?:system|scripts?|files?|definitions?|config|configuration|rules?|targets?|steps?|errors?|failures?|fails?|failing|breaks?|flags|toolchain|setup)\b/g,
  /\b(?:fails? to|failing to|code|longer) (compile|link)s?\b(?! (?:a|an|the|to)\b)/g,
  /\b(compile) (?:errors?|flags?|steps?|time|failures?|targets?|options?|commands?)\b/g,
  /\b(link) (?:steps?|flags?|order|time|scripts?)\b/g,
  /\b(?:build|toolchain|compiler|project) (setup|bootstrap)\b/g,
  /\b(setup|bootstrap) (?:scripts?|steps?|targets?)\b/g,
]

const maxText = 20_000

/** "It does not compile" forbids nothing. */
const asStatement = (text: string): string =>
  text.slice(0, maxText).replaceAll(/\b(?:does|did)(?: not|n['’]t) (compile|link|build)\b/gi, 'fails to $1')

const namingTask = ({ title, instructions, commands }: InfraText): NamingTask => ({
  title: asStatement(title),
  instructions: asStatement(instructions),
  commands: [...commands],
  originalCommands: [],
  allowedPaths: [],
})

/** The sentences of a text that forbid nothing. */
const allowing = (text: string): string[] =>
  sentencesOf(namingTask({ title: text, instructions: '', commands: [] })).filter((each) => each.trim() !== '')

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

/** The name as a word of its own. A file may stand in a folder. */
const named = (text: string, name: string, { isFile = false } = {}): boolean =>
  new RegExp(String.raw`(?<![\w.${isFile ? '' : '/'}-])${escaped(name)}(?![\w/-]|\.\w)`, isFile ? '' : 'i').test(text)

const programsOf = (line: string): string[] => {
  const plan = planCommand(line.replace(/^\s*\$ /, ''))
  return plan.ok ? plan.steps.flatMap(({ argv }) => argv[0] ?? []) : []
}

const maxSpans = 200

const programsInSpans = (sentence: string): string[] =>
  [...sentence.matchAll(/`([^`]+)`/g)].slice(0, maxSpans).flatMap(([, code = '']) => programsOf(code))

/** Programs in fenced blocks. A block after a line that forbids something ("Never run:") does not count. */
const programsInBlocks = (text: string): string[] => {
  const [first = '', ...rest] = text.split(/^[ \t]*```.*$/m, maxSpans)
  let before = first
  return rest.flatMap((part, index) => {
    const isBlock = index % 2 === 0
    const intro = before.trimEnd().split('\n').at(-1) ?? ''
    before = isBlock ? before : part
    return isBlock && (intro === '' || allowing(intro).length > 0) ? part.split('\n').flatMap(programsOf) : []
  })
}

/** `run make`, `using cargo`: a verb before the name makes it the tool. */
const runsIt = (text: string, token: string): boolean =>
  new RegExp(
    String.raw`\b(?:run|runs|running|using|via|invoke|invokes|call|calls|gnu) ${escaped(token)}(?![\w/-]|\.\w)`,
    'i',
  ).test(text)

export const infraSignals = (text: InfraText, policy: Words): InfraSignals => {
  const task = namingTask(text)
  const sentences = sentencesOf(task)
  const programs = [
    ...text.commands.flatMap(programsOf),
    ...sentences.flatMap(programsInSpans),
    ...programsInBlocks(task.instructions),
  ]
  const rules = policy.commandDrivenAllowedPathRules.map(({ pattern, paths }) => ({
    names: commandNamesOf(pattern) ?? [],
    paths,
  }))
  const plain = sentences.join('\n')
  const namesTool = (token: string): boolean => {
    const related = rules.filter(({ names }) => names.includes(token))
    const names = [token, ...related.flatMap((rule) => rule.names)]
    const files = related.flatMap(({ paths }) => paths).filter((path) => !path.endsWith('/'))
    return (
      programs.some((program) => isNamed(program, names)) ||
      files.some((file) => named(plain, file, { isFile: true })) ||
      (english.has(token) ? runsIt(plain, token) : named(plain, token))
    )
  }
  const lower = plain.toLowerCase()
  const asBuild = new Set(phrases.flatMap((phrase) => [...lower.matchAll(phrase)].flatMap(([, word]) => word ?? [])))
  const tokens = [...new Set(policy.infraSignalTokens.map((token) => token.toLowerCase()))]
  return {
    tools: tokens.filter((token) => !general.has(token) && namesTool(token)),
    build: tokens.filter((token) => general.has(token) && asBuild.has(token)),
    words: tokens.filter((token) => general.has(token) && named(plain, token)),
  }
}
