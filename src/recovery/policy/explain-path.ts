/** Which rule allows or refuses a change of a path, in the order in which a run asks them. Used by people before a run. Pure. */
import { autoAllow, type AutoAllow, type PathTask } from './auto-allow.ts'
import { generatedMatcher, isLikelyGeneratedArtifactPath } from './generated.ts'
import { checkPathPolicy, type Violation, type ViolationKind } from './path-policy.ts'
import { shownPath, type HeldArea } from './path-safety.ts'
import { litterAt, namesLitter } from './litter.ts'
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
  generated: readonly GeneratedRule[]
  held: readonly HeldArea[]
  /** Paths that the task may change in addition to its own. */
  grants: readonly GrantFact[]
  /** `policyRecovery.attempts`: with 0, no rule is asked. */
  attempts: number
  /** `policyRecovery.useLlm` */
  useLlm: boolean
  /** Ids of playbooks that the owner switched off. */
  disabled: readonly string[]
  /** The work is done in the user's own folder, where nothing is left out. */
  isDirect: boolean
}

export interface GeneratedRule {
  pattern: string
  /** The setting, or what was observed when the path was learned. */
  from: string
  /** What would change it. */
  change: string
}

export interface GrantFact {
  path: string
  /** Who granted it to whom, when, why, and when it ends. */
  from: string
  change: string
}

/** `tested`: the checks run in a clean clone without the file; it is left out if one of them makes it again. */
export type PathDecision = 'allowed' | 'left out' | 'tested' | 'asked' | 'refused'

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
  /** The setting, list or record that the rule comes from. */
  from: string
  /** What would change the answer, in words or as a command. `TASK` stands for the id of the task. */
  change: string
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
const violationOf = ({ path, facts, task = noTask, denied, grants }: PathQuestion) => {
  const change = {
    path,
    oldMode: facts.tracked ? facts.mode : '000000',
    newMode: facts.mode === '000000' ? '100644' : facts.mode,
  }
  const [violation] = checkPathPolicy({
    changes: [change],
    allowedPaths: rulesOf([...task.allowedPaths, ...grants.map((grant) => grant.path)]),
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
  from: string
  change: string
}[] = [
  {
    kind: 'denied',
    question: 'Is it a denied path?',
    words: (name, rule) => `${name} is covered by the denied path ${rule}; no task and no rule can allow it.`,
    ...{ from: '', change: '' },
  },
  {
    kind: 'secret',
    question: 'Is it a secret by its name?',
    words: (name, rule) => `${name} is a secret by its name (${rule}); no task and no mode can allow it.`,
    from: 'the built-in list of secrets',
    change: 'No setting allows it. Keep the secret out of the repository, or give the file another name.',
  },
  {
    kind: 'nested_repository',
    question: 'Is it a repository of its own?',
    words: (name) => `${name} is a git repository or a submodule, which no run may change.`,
    ...{ from: 'built-in', change: 'No setting allows it. Change the submodule yourself.' },
  },
  {
    kind: 'symlink_out',
    question: 'Is it a link that leaves the repository?',
    words: (name, rule) => `${name} is a symlink to ${rule}, which is outside of the repository.`,
    ...{ from: 'built-in', change: 'No setting allows it. Let the link point into the repository.' },
  },
]

const denialOf = ({ denied }: PathQuestion, rule: string): Pick<PathAnswer, 'from' | 'change'> => {
  const found = denied.find((each) => each.path === rule)
  if (found === undefined)
    return { from: 'deniedPaths of the task', change: 'unstuck edit TASK --deny …, without this path' }
  const change =
    found.from === 'built-in'
      ? 'No setting allows it. Only you change this folder.'
      : `Remove ${shownPath(rule)} from deniedPaths in .unstuck/config.json.`
  return { from: found.from, change }
}

const refusedBy =
  (question: PathQuestion, violation: Violation | undefined, row: (typeof refusedKinds)[number]) => (): Verdict => {
    if (violation?.kind !== row.kind) return undefined
    const { from, change } = row.kind === 'denied' ? denialOf(question, violation.rule) : row
    const rule = row.kind === 'denied' ? `${shownPath(violation.rule)} (${from})` : shownPath(violation.rule)
    return { decision: 'refused', rule: row.kind, because: row.words(shownPath(question.path), rule), from, change }
  }

const covers = (rule: string, path: string): boolean => {
  const parsed = parsePathRule(rule)
  return parsed.ok && pathMatcher(parsed.rule)(path)
}

const byTask = ({ path, task = noTask, grants }: PathQuestion): Verdict => {
  const name = shownPath(path)
  const own = task.allowedPaths.find((rule) => covers(rule, path))
  const [from, change] = ['allowedPaths of the task', 'unstuck edit TASK --paths …, without this path']
  if (own !== undefined) {
    const because = `${name} is covered by the allowed paths of the task (${shownPath(own)}).`
    return { decision: 'allowed', rule: 'task', because, from, change }
  }
  const grant = grants.find((each) => covers(each.path, path))
  if (grant === undefined) return undefined
  const because = `${name} is covered by the granted path ${shownPath(grant.path)}.`
  return { decision: 'allowed', rule: 'grant', because, from: grant.from, change: grant.change }
}

/** With its playbook switched off, a run knows what to do about the path and may not do it. */
const unlessDisabled = ({ disabled }: PathQuestion, playbook: string, verdict: Verdict): Verdict =>
  verdict === undefined || !disabled.includes(playbook)
    ? verdict
    : {
        ...{ decision: 'refused', rule: 'playbook_disabled' },
        because: `${verdict.because} But the playbook ${playbook} is switched off.`,
        from: 'playbooks.disabled in .unstuck/config.json',
        change: `Remove "${playbook}" from playbooks.disabled.`,
      }

const isNew = ({ facts, isDirect }: PathQuestion): boolean => !facts.tracked && !isDirect

const leftOut = (question: PathQuestion): Verdict => {
  const { path, facts, generated } = question
  if (!isNew(question)) return undefined
  const name = shownPath(path)
  const found = litterAt(path)
  if (found !== undefined && !namesLitter(path, question.task ?? noTask))
    return {
      ...{
        decision: 'left out',
        rule: 'litter',
        because: `${name} is new, and ${found.by} leaves such files (${found.glob}).`,
      },
      ...{ from: 'the built-in list of what tools leave', change: 'A task whose paths or text name it keeps it.' },
    }
  if (facts.ignoredBy !== undefined)
    return {
      ...{ decision: 'left out', rule: 'ignored', because: `${name} is ignored by git (${facts.ignoredBy}).` },
      ...{ from: facts.ignoredBy, change: 'Change the ignore file, and commit it.' },
    }
  const pattern = generatedMatcher(generated.map((each) => each.pattern))(path)
  const rule = generated.find((each) => each.pattern === pattern)
  if (pattern === undefined || rule === undefined) return undefined
  const because = `${name} is not in the last commit and matches the generated path ${shownPath(pattern)} (${rule.from}).`
  return { decision: 'left out', rule: 'generated', because, from: rule.from, change: rule.change }
}

/** Only the name is judged: a run would let the checks make the file again. */
const likely = (question: PathQuestion): Verdict => {
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

const isPlainFile = ({ facts }: PathQuestion): boolean => ['000000', '100644', '100755'].includes(facts.mode)

/** Where the rules of the modes are set, and what would change their answer. */
const origins: Readonly<Record<AutoAllow['rule'], { from: string; change: string }>> = {
  context_file: { from: 'contextFiles of the task', change: 'Add the path to deniedPaths.' },
  command_rule: {
    from: 'commandDrivenAllowedPathRules',
    change: 'Set mode to "balanced", remove the rule, or add the path to deniedPaths.',
  },
  infra_file: {
    from: 'safeInfraFileBasenames, safeInfraFileExtensions and infraSignalTokens',
    change: 'Set mode to "conservative", or add the path to deniedPaths.',
  },
  root_infra: {
    from: 'safeHiddenRootFiles, the built-in names of root-level build files, and infraSignalTokens',
    change: 'Set mode to "balanced", or add the path to deniedPaths.',
  },
  unsafe_path: { from: 'built-in', change: 'No setting allows it. Give the file another name.' },
  denied: { from: 'deniedPaths', change: 'Remove it from deniedPaths.' },
  secret: { from: 'the built-in list of secrets', change: 'No setting allows it.' },
  docs_task: { from: 'the role docser of the task', change: 'unstuck edit TASK --paths …' },
  held_area: { from: 'the area of the other task', change: 'It is decided anew when the other task has ended.' },
  no_rule: { from: 'no setting covers it', change: 'unstuck edit TASK --paths …, or unstuck grants add' },
}

const notAFile = ({ path }: PathQuestion): Verdict => ({
  ...{ decision: 'refused', rule: 'not_a_file' },
  because: `${shownPath(path)} is a symlink; no rule and no model may allow one outside of the allowed paths.`,
  ...{ from: 'built-in', change: origins.no_rule.change },
})

const spent: Verdict = {
  ...{ decision: 'refused', rule: 'no_attempts' },
  because: 'policyRecovery.attempts is 0, so a path outside of the task is given back to the agent at once.',
  ...{ from: 'policyRecovery.attempts', change: 'Set policyRecovery.attempts to 1 or more.' },
}

/** For the paths outside of the task, in the order in which a run tries them. */
const outsideStages = (question: PathQuestion): Stage[] => {
  const { path, task = noTask, policy, held, attempts, useLlm } = question
  const auto = autoAllow(path, { ...task, deniedPaths: [] }, policy, held)
  const { rule, because, allowed } = auto
  const answer = { rule, because, ...origins[rule] }
  const mayAsk = useLlm && task.role !== 'docser' && isPlainFile(question)
  return [
    { rule: 'no_attempts', question: 'Is recovery switched off?', verdict: () => (attempts === 0 ? spent : undefined) },
    {
      ...{ rule: 'generated', question: 'Is it ignored or generated, and new?' },
      verdict: () => unlessDisabled(question, 'policy-exclude', leftOut(question)),
    },
    {
      ...{ rule: 'automatic', question: `Does the mode "${policy.mode}" allow it?` },
      verdict: () =>
        allowed && isPlainFile(question)
          ? unlessDisabled(question, 'policy-allow', { decision: 'allowed', ...answer })
          : undefined,
    },
    {
      ...{ rule: 'likely_generated', question: 'Is it new, and has it the name of a generated file?' },
      verdict: () => likely(question),
    },
    {
      ...{ rule: 'fixed', question: 'Does a fixed rule keep it from a model?' },
      verdict: () => {
        if (!isPlainFile(question)) return notAFile(question)
        return rule === 'no_rule' || allowed ? undefined : { decision: 'refused', ...answer }
      },
    },
    {
      ...{ rule: 'model', question: 'May a model decide?' },
      verdict: () =>
        mayAsk
          ? unlessDisabled(question, 'policy-ask', {
              ...{ decision: 'asked', rule: 'model', because: `${because} A model is asked about it.` },
              ...{ from: 'policyRecovery.useLlm', change: origins.no_rule.change },
            })
          : undefined,
    },
    {
      ...{ rule: 'no_rule', question: 'Is anything else left?' },
      verdict: () => ({ decision: 'refused', ...answer }),
    },
  ]
}

const stagesOf = (question: PathQuestion): Stage[] => {
  const violation = violationOf(question)
  return [
    ...refusedKinds.map((row) => ({
      ...{ rule: row.kind, question: row.question },
      verdict: refusedBy(question, violation, row),
    })),
    {
      ...{ rule: 'task', question: 'Do the allowed paths of the task, or a grant, cover it?' },
      verdict: () => (violation === undefined ? byTask(question) : undefined),
    },
    ...outsideStages(question),
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
