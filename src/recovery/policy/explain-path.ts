/** Which rule allows or refuses a change of a path, in the order in which a run asks them. Used by people before a run. Pure. */
import { autoAllow, type AutoAllow } from './auto-allow.ts'
import { leftOutAfter, leftOutFirst, likely } from './explain-left-out.ts'
import { checkPathPolicy, type Violation, type ViolationKind } from './path-policy.ts'
import { noTask, type PathAnswer, type PathQuestion, type PathStep, type PathVerdict } from './path-question.ts'
import { shownPath } from './path-safety.ts'
import { parsePathRule, pathMatcher, type PathRule } from './path-rule.ts'

interface Stage {
  rule: string
  question: string
  verdict: () => PathVerdict
}

const rulesOf = (texts: readonly string[]): PathRule[] =>
  texts.flatMap((text) => {
    const parsed = parsePathRule(text)
    return parsed.ok ? [parsed.rule] : []
  })

/** The violation of the run's own check. */
const violationOf = ({ path, facts, task = noTask, denied, grants, carried = [] }: PathQuestion) => {
  const change = {
    path,
    oldMode: facts.tracked ? facts.mode : '000000',
    newMode: facts.mode === '000000' ? '100644' : facts.mode,
  }
  const [violation] = checkPathPolicy({
    changes: [change],
    allowedPaths: [
      ...rulesOf([...task.allowedPaths, ...grants.map((grant) => grant.path)]),
      ...carried.map(({ to }) => ({ literal: to })),
    ],
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
      ? 'No setting allows it. Only you change it.'
      : `Remove ${shownPath(rule)} from deniedPaths in .unstuck/config.json.`
  return { from: found.from, change }
}

const refusedBy =
  (question: PathQuestion, violation: Violation | undefined, row: (typeof refusedKinds)[number]) => (): PathVerdict => {
    if (violation?.kind !== row.kind) return undefined
    const { from, change } = row.kind === 'denied' ? denialOf(question, violation.rule) : row
    const rule = row.kind === 'denied' ? `${shownPath(violation.rule)} (${from})` : shownPath(violation.rule)
    return { decision: 'refused', rule: row.kind, because: row.words(shownPath(question.path), rule), from, change }
  }

const covers = (rule: string, path: string): boolean => {
  const parsed = parsePathRule(rule)
  return parsed.ok && pathMatcher(parsed.rule)(path)
}

const byTask = ({ path, task = noTask, grants, carried = [] }: PathQuestion): PathVerdict => {
  const name = shownPath(path)
  const own = task.allowedPaths.find((rule) => covers(rule, path))
  const [from, change] = ['allowedPaths of the task', 'unstuck edit TASK --path …, without this path']
  if (own !== undefined) {
    const because = `${name} is covered by the allowed paths of the task (${shownPath(own)}).`
    return { decision: 'allowed', rule: 'task', because, from, change }
  }
  const moved = carried.find(({ to }) => to === path)
  if (moved !== undefined) {
    const because = `${name} is ${shownPath(moved.from)}, which the task may change, under the name that a commit gave it since the task was made.`
    return { decision: 'allowed', rule: 'task', because, from, change: `unstuck edit TASK --deny "${shownPath(path)}"` }
  }
  const grant = grants.find((each) => covers(each.path, path))
  if (grant === undefined) return undefined
  const because = `${name} is covered by the granted path ${shownPath(grant.path)}.`
  return { decision: 'allowed', rule: 'grant', because, from: grant.from, change: grant.change }
}

/** With its playbook switched off, a run knows what to do about the path and may not do it. */
const unlessDisabled = ({ disabled }: PathQuestion, playbook: string, verdict: PathVerdict): PathVerdict =>
  verdict === undefined || !disabled.includes(playbook)
    ? verdict
    : {
        ...{ decision: 'refused', rule: 'playbook_disabled' },
        because: `${verdict.because} But the playbook ${playbook} is switched off.`,
        from: 'playbooks.disabled in .unstuck/config.json',
        change: `Remove "${playbook}" from playbooks.disabled.`,
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
  docs_task: { from: 'the role docser of the task', change: 'unstuck edit TASK --add-path …' },
  held_area: { from: 'the area of the other task', change: 'It is decided anew when the other task has ended.' },
  no_rule: { from: 'no setting covers it', change: 'unstuck edit TASK --add-path …, or unstuck grants add' },
}

const notAFile = ({ path }: PathQuestion): PathVerdict => ({
  ...{ decision: 'refused', rule: 'not_a_file' },
  because: `${shownPath(path)} is a symlink; no rule and no model may allow one outside of the allowed paths.`,
  ...{ from: 'built-in', change: origins.no_rule.change },
})

const spent: PathVerdict = {
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
      verdict: () => unlessDisabled(question, 'policy-exclude', leftOutAfter(question)),
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
      ...{
        rule: 'litter',
        question: 'Do tools leave such files, or did you or a run call it generated, and is it new?',
      },
      verdict: () => (violation === undefined || violation.kind === 'outside' ? leftOutFirst(question) : undefined),
    },
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
