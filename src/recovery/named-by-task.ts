/**
 * Whether a task names what its work weakened. It does by a path rule for the very file, or one whose last segment has more
 * than wildcards and a file extension (`test/login*.ts`, neither a folder's wildcard nor `*.ts`); or by its title or instructions, where
 * they name the path or its last segment in a sentence that forbids nothing. The text of a check's command names nothing: to be
 * asked to make `node check.mjs` pass is not to be asked to change it.
 */
import type { Weakening } from '../domain/run.ts'
import { parsePathRule, pathMatcher, ruleText } from './policy/rule.ts'

export interface NamingTask {
  title: string
  instructions: string
  allowedPaths: readonly string[]
  originalCommands: readonly string[]
  commands: readonly string[]
}

/** Listed, and no reason to hold the work: both belong to ordinary work. */
const shownOnly: readonly Weakening['kind'][] = ['snapshot changed', 'test renamed']

const isSpecific = (glob: string): boolean => {
  const last = glob.split('/').at(-1) ?? ''
  // A name that begins with its dot, as `.npmrc`, has no extension.
  return /\w/.test(last.replace(/(?<=.)\.\w+$/, ''))
}

const ruleNames = (rule: string, path: string): boolean => {
  const parsed = parsePathRule(rule)
  if (!parsed.ok || !pathMatcher(parsed.rule)(path)) return false
  return 'literal' in parsed.rule ? parsed.rule.literal === path : isSpecific(ruleText(parsed.rule))
}

const forbids = /\b(?:not|never|without|cannot|nor|leave|keep|except|avoid|untouched|unchanged)\b|n['’]t\b/i

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

const mentions = (sentence: string, name: string): boolean =>
  new RegExp(String.raw`(?<![\w./-])(?:\./)?${escaped(name)}(?![\w/-]|\.\w)`).test(sentence)

/** Sentences that ask for something, without the commands of the checks. */
const sentencesOf = ({ title, instructions, commands, originalCommands }: NamingTask): string[] => {
  const asked = [...new Set([...commands, ...originalCommands])].toSorted((a, b) => b.length - a.length)
  const plain = asked.reduce((text, command) => text.replaceAll(command, ' '), `${title}\n${instructions}`)
  return plain.split(/[.!?;](?=\s|$)|\n/).filter((sentence) => !forbids.test(sentence))
}

/** Whether what becomes of this file is the task's own matter. */
export const isNamed = (task: NamingTask, path: string): boolean =>
  task.allowedPaths.some((rule) => ruleNames(rule, path)) ||
  sentencesOf(task).some((sentence) => mentions(sentence, path) || mentions(sentence, path.split('/').at(-1) ?? path))

/** What of it the task does not name: no gate may approve that by itself. */
export const unnamed = (task: NamingTask, weakened: readonly Weakening[]): Weakening[] =>
  weakened.filter(({ kind, path }) => !shownOnly.includes(kind) && !isNamed(task, path))
