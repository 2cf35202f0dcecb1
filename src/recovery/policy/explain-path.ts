/** Which rule allows or refuses a change of a path, in the order in which a run asks them. Used by people before a run. Pure. */
import { autoAllow, type PathTask } from './auto-allow.ts'
import { generatedMatcher } from './generated.ts'
import { checkPathPolicy, type ViolationKind } from './path-policy.ts'
import { shownPath, type HeldArea } from './path-safety.ts'
import { parsePathRule, pathMatcher, type PathRule } from './path-rule.ts'
import type { PolicyRecovery } from './recovery-policy.ts'

/** What git knows of the path in the owner's checkout. */
export interface PathFacts {
  /** git's mode of the path; `000000` = it does not exist. */
  mode: string
  linkTarget?: string
  /** Whether the last commit has it. Such a file is never left out as generated. */
  tracked: boolean
  /** The ignore rule that covers it, as "file:line: pattern". */
  ignoredBy?: string
}

export interface PathQuestion {
  path: string
  facts: PathFacts
  /** Absent = no task is named: nothing is allowed by a task, and no rule finds one of its commands. */
  task?: PathTask
  /** Denied for every task, each with where that is set. */
  denied: readonly { path: string; from: string }[]
  policy: PolicyRecovery
  generated: readonly { pattern: string; from: string }[]
  /** Granted to the task, to a task that it continues, or to its area; absent = none. */
  granted?: readonly { path: string; from: string }[]
  held: readonly HeldArea[]
  /** Whether a model may be asked: the setting, and the task's role. */
  mayAskModel: boolean
}

export type PathDecision = 'allowed' | 'left out' | 'asked' | 'refused'

export interface PathStep {
  rule: string
  /** In words for a person: what the rule looks at. */
  question: string
  decides: boolean
}

export interface PathAnswer {
  decision: PathDecision
  rule: string
  because: string
  /** The rules up to the one that decides. */
  steps: PathStep[]
}

type Verdict = Omit<PathAnswer, 'steps'> | undefined

interface Stage {
  rule: string
  question: string
  verdict: () => Verdict
}

const rulesOf = (texts: readonly string[]): PathRule[] =>
  texts.flatMap((text) => {
    const parsed = parsePathRule(text)
    return parsed.ok ? [parsed.rule] : []
  })

const noTask: PathTask = {
  ...{ role: 'worker', title: '', instructions: '', commands: [], contextFiles: [], allowedPaths: [], deniedPaths: [] },
}

/** The violation of the run's own check. */
const violationOf = ({ path, facts, task = noTask, denied }: PathQuestion) => {
  const change = {
    path,
    oldMode: facts.tracked ? facts.mode : '000000',
    newMode: facts.mode === '000000' ? '100644' : facts.mode,
  }
  const [violation] = checkPathPolicy({
    changes: [change],
    allowedPaths: rulesOf(task.allowedPaths),
    deniedPaths: rulesOf([...task.deniedPaths, ...denied.map((each) => each.path)]),
    nestedRepositories: [],
    symlinkTargets: new Map(facts.linkTarget === undefined ? [] : [[path, facts.linkTarget]]),
  }).violations
  return violation
}

const refusedKinds: readonly {
  kind: ViolationKind
  question: string
  words: (name: string, rule: string) => string
}[] = [
  {
    kind: 'denied',
    question: 'Is it a denied path?',
    words: (name, rule) => `${name} is covered by the denied path ${rule}; no task and no rule can allow it.`,
  },
  {
    kind: 'secret',
    question: 'Is it a secret by its name?',
    words: (name, rule) => `${name} is a secret by its name (${rule}); no task and no mode can allow it.`,
  },
  {
    kind: 'nested_repository',
    question: 'Is it a repository of its own?',
    words: (name) => `${name} is a git repository or a submodule, which no run may change.`,
  },
  {
    kind: 'symlink_out',
    question: 'Is it a link that leaves the repository?',
    words: (name, rule) => `${name} is a symlink to ${rule}, which is outside of the repository.`,
  },
]

const denialFrom = ({ denied }: PathQuestion, rule: string): string => {
  const found = denied.find((each) => each.path === rule)
  return found === undefined ? `${shownPath(rule)} of the task` : `${shownPath(rule)} (${found.from})`
}

const leftOut = ({ path, facts, generated }: PathQuestion): Verdict => {
  if (facts.tracked) return undefined
  const name = shownPath(path)
  if (facts.ignoredBy !== undefined)
    return { decision: 'left out', rule: 'ignored', because: `${name} is ignored by git (${facts.ignoredBy}).` }
  const pattern = generatedMatcher(generated.map((each) => each.pattern))(path)
  if (pattern === undefined) return undefined
  const from = generated.find((each) => each.pattern === pattern)?.from ?? ''
  const because = `${name} is not in the last commit and matches the generated path ${shownPath(pattern)} (${from}).`
  return { decision: 'left out', rule: 'generated', because }
}

const grantedBy = ({ path, granted = [] }: PathQuestion): Verdict => {
  const found = granted.find((each) => rulesOf([each.path]).some((rule) => pathMatcher(rule)(path)))
  if (found === undefined) return undefined
  return { decision: 'allowed', rule: 'grant', because: `${shownPath(path)} is granted ${found.from}.` }
}

const stagesOf = (question: PathQuestion): Stage[] => {
  const { path, task, policy, held, mayAskModel } = question
  const name = shownPath(path)
  const violation = violationOf(question)
  const auto = autoAllow(path, task ?? noTask, policy, held)
  return [
    ...refusedKinds.map(({ kind, question: asked, words }) => ({
      ...{ rule: kind, question: asked },
      verdict: (): Verdict => {
        if (violation?.kind !== kind) return undefined
        const rule = kind === 'denied' ? denialFrom(question, violation.rule) : shownPath(violation.rule)
        return { decision: 'refused', rule: kind, because: words(name, rule) }
      },
    })),
    {
      ...{ rule: 'task', question: 'Do the allowed paths of the task cover it?' },
      verdict: () =>
        violation === undefined
          ? { decision: 'allowed', rule: 'task', because: `${name} is covered by the allowed paths of the task.` }
          : undefined,
    },
    { rule: 'grant', question: 'Is it granted to the task?', verdict: () => grantedBy(question) },
    { rule: 'generated', question: 'Is it ignored or generated, and new?', verdict: () => leftOut(question) },
    {
      ...{ rule: 'automatic', question: `Does the mode "${policy.mode}" allow it?` },
      verdict: () => {
        if (auto.allowed) return { decision: 'allowed', rule: auto.rule, because: auto.because }
        return auto.rule === 'no_rule' ? undefined : { decision: 'refused', rule: auto.rule, because: auto.because }
      },
    },
    {
      ...{ rule: 'model', question: 'May a model decide?' },
      verdict: () =>
        mayAskModel
          ? { decision: 'asked', rule: 'model', because: `${auto.because} A model is asked about it.` }
          : undefined,
    },
    {
      ...{ rule: 'no_rule', question: 'Is anything else left?' },
      verdict: () => ({ decision: 'refused', rule: 'no_rule', because: auto.because }),
    },
  ]
}

/** Decides as a run would, as far as that is known without one: the content of the file is not looked at. */
export const explainPath = (question: PathQuestion): PathAnswer => {
  const steps: PathStep[] = []
  for (const { rule, question: asked, verdict } of stagesOf(question)) {
    const found = verdict()
    steps.push({ rule, question: asked, decides: found !== undefined })
    if (found !== undefined) return { ...found, steps }
  }
  throw new Error('the last rule always decides')
}
