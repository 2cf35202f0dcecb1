/**
 * Whether a task names the files that its work weakened. A path rule names a file if it is exactly this path, or if its last
 * segment has more than wildcards and an extension (`test/login*.ts`, but neither `test/**` nor `*.ts`). The title and the
 * instructions name a file by its path or last segment, in a sentence that forbids nothing. The command of a check names no
 * file: a task to make `node check.mjs` pass is not a task to change that file.
 */
import type { Weakening } from '../domain/run.ts'
import { parsePathRule, pathMatcher, ruleText } from './policy/path-rule.ts'

export interface NamingTask {
  title: string
  instructions: string
  allowedPaths: readonly string[]
  originalCommands: readonly string[]
  commands: readonly string[]
}

/** Listed for the judge but never blocking, because both are part of ordinary work. */
const shownOnly: readonly Weakening['kind'][] = ['snapshot changed', 'test renamed']

const isSpecific = (glob: string): boolean => {
  const last = glob.split('/').at(-1) ?? ''
  // A name that starts with a dot, such as `.npmrc`, has no extension.
  return /\w/.test(last.replace(/(?<=.)\.\w+$/, ''))
}

const ruleNames = (rule: string, path: string): boolean => {
  const parsed = parsePathRule(rule)
  if (!parsed.ok || !pathMatcher(parsed.rule)(path)) return false
  return 'literal' in parsed.rule ? parsed.rule.literal === path : isSpecific(ruleText(parsed.rule))
}

const forbids = /\b(?:not|never|without|cannot|nor|leave|keep|except|avoid|untouched|unchanged)\b|n['’]t\b/i

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

/** `inside`: a longer path that ends with the name counts as well. */
const mentions = (sentence: string, name: string, inside = false): boolean =>
  new RegExp(String.raw`(?<![\w.${inside ? '' : '/'}-])(?:\./)?${escaped(name)}(?![\w/-]|\.\w)`).test(sentence)

/** The sentences that forbid nothing, with the commands of the checks removed. */
export const sentencesOf = ({ title, instructions, commands, originalCommands }: NamingTask): string[] => {
  const asked = [...new Set([...commands, ...originalCommands])].toSorted((a, b) => b.length - a.length)
  const plain = asked.reduce((text, command) => text.replaceAll(command, ' '), `${title}\n${instructions}`)
  return plain.split(/[.!?;](?=\s|$)|\n/).filter((sentence) => !forbids.test(sentence))
}

/** Whether the task asks to change this file. */
export const isNamedByTask = (task: NamingTask, path: string): boolean =>
  task.allowedPaths.some((rule) => ruleNames(rule, path)) ||
  sentencesOf(task).some((sentence) => mentions(sentence, path) || mentions(sentence, path.split('/').at(-1) ?? path))

const check = '(?:tests?|checks?|suite|build|lint(?:er)?|CI)'
const aboutCheck = new RegExp(
  String.raw`\b(?:fix|repair|mend|make|get|turn|solve)\b.{0,60}\b${check}\b|\b${check}\b.{0,40}\b(?:pass(?:es)?|green|fail(?:s|ed|ing)?|red|broken)\b`,
  'i',
)

/**
 * Whether the task asks for what a failed check lacks: for one of the missing paths, or for the check to pass. An agent may mend that
 * also where it looks like a fault of the machine.
 */
export const isAskedByTask = (task: NamingTask, missing: Iterable<string>): boolean => {
  const sentences = sentencesOf(task)
  const names = [...missing].flatMap((path) => [path, path.split('/').at(-1) ?? path])
  return sentences.some((sentence) => aboutCheck.test(sentence) || names.some((name) => mentions(sentence, name, true)))
}

/** The weakenings that the task does not name. No gate may approve them automatically. */
export const unnamedWeakenings = (task: NamingTask, weakened: readonly Weakening[]): Weakening[] =>
  weakened.filter(({ kind, path }) => !shownOnly.includes(kind) && !isNamedByTask(task, path))
