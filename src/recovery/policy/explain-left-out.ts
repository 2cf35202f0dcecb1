/** The rules by which a new file is left out of the work, or tried without. Pure. */
import { builtInGeneratedPaths, generatedMatcher, isLikelyGeneratedArtifactPath } from './generated.ts'
import { litterAt, namesLitter, ruleNames } from './litter.ts'
import { noTask, type PathQuestion, type PathVerdict } from './path-question.ts'
import { shownPath } from './path-safety.ts'

const isNew = ({ facts, isDirect }: PathQuestion): boolean => !facts.tracked && !isDirect

/** The first pattern for generated files that covers the path, of those that `counts` accepts. */
const generatedRule = ({ path, generated }: PathQuestion, counts: (pattern: string) => boolean): PathVerdict => {
  const entries = generated.filter(({ pattern }) => counts(pattern))
  const covering = generatedMatcher(entries.map(({ pattern }) => pattern))(path)
  const rule = entries.find(({ pattern }) => pattern === covering)
  if (covering === undefined || rule === undefined) return undefined
  const because = `${shownPath(path)} is not in the last commit and matches the generated path ${shownPath(covering)} (${rule.from}).`
  return { decision: 'left out', rule: 'generated', because, from: rule.from, change: rule.change }
}

const isOwn = (pattern: string): boolean => !builtInGeneratedPaths.includes(pattern)

/** Left out whatever the task may change, unless it names such files: litter, and what the owner or a run called generated. */
export const leftOutFirst = (question: PathQuestion): PathVerdict => {
  const { path, task = noTask, generated, attempts } = question
  if (!isNew(question)) return undefined
  const found = litterAt(path)
  if (found !== undefined && !namesLitter(path, task))
    return {
      ...{ decision: 'left out', rule: 'litter' },
      because: `${shownPath(path)} is new, and ${found.by} leaves such files (${found.glob}).`,
      ...{ from: 'the built-in list of what tools leave', change: 'A task whose paths or text name it keeps it.' },
    }
  if (attempts === 0) return undefined
  const covers = generatedMatcher(generated.map(({ pattern }) => pattern).filter(isOwn))
  const isOne = (candidate: string): boolean => covers(candidate) !== undefined
  return task.allowedPaths.some((rule) => ruleNames(rule, path, isOne)) ? undefined : generatedRule(question, isOwn)
}

export const leftOutAfter = (question: PathQuestion): PathVerdict => {
  const { path, facts } = question
  if (!isNew(question)) return undefined
  if (facts.ignoredBy !== undefined)
    return {
      ...{
        decision: 'left out',
        rule: 'ignored',
        because: `${shownPath(path)} is ignored by git (${facts.ignoredBy}).`,
      },
      ...{ from: facts.ignoredBy, change: 'Change the ignore file, and commit it.' },
    }
  return generatedRule(question, () => true)
}

/** Only the name is judged: a run would let the checks make the file again. */
export const likely = (question: PathQuestion): PathVerdict => {
  const { path, task = noTask, disabled } = question
  const fits = isNew(question) && isLikelyGeneratedArtifactPath(path) && !disabled.includes('policy-discard')
  if (!fits || task.role === 'docser') return undefined
  return {
    ...{ decision: 'tested', rule: 'likely_generated' },
    because: `${shownPath(path)} is new and has the name of a generated file. The checks run without it in a clean clone; if one makes it again, it is left out and its path is learned.`,
    from: 'the built-in names of generated files',
    change: 'policyRecovery.generatedPaths in .unstuck/config.json leaves it out at once; a grant allows it.',
  }
}
