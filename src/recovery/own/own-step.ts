/**
 * What the owner's playbooks do about a failure, before the built-in ones: in the order of their names, each as often as its budget
 * allows. Pure.
 */
import type { Evidence } from '../evidence.ts'
import { nextStep, type LadderSettings, type LadderStep } from '../ladder.ts'
import type { Action, PastRecovery, Playbook, PostCondition } from '../playbook.ts'
import type { AnyFacts, Diagnosis } from '../types.ts'
import { matchesOf, subjectOf, type OwnMatch } from './match-own.ts'
import { budgetOf, ownId, type OwnPlaybook, type OwnQuestion, type OwnSettings } from './own-playbook.ts'
import { defined } from '../../domain/defined.ts'

/** A command that the owner's playbook proposes; the lists of the owner and a person decide about it as about any other. */
export interface OwnCommand extends OwnMatch {
  action: Extract<OwnPlaybook['action'], { type: 'run' }>
  /** From 1. */
  attempt: number
}

export interface OwnTurn {
  /** With the line that was found; of the environment, if a playbook says so. */
  diagnosis: Diagnosis
  /** Undefined = the built-in playbooks go on. */
  step?: LadderStep
  proposes?: OwnCommand
}

type Plan = { action: Action; postCondition: PostCondition }

const planOf = (
  { name, playbook: { match, action } }: OwnMatch,
  diagnosis: Diagnosis,
  { attempts, budget, settings }: { attempts: number; budget: number; settings: OwnSettings },
): Plan | undefined => {
  const { feedback, command = '', otherHarness, nextHarness }: AnyFacts = diagnosis.facts
  const isCheck = match.failure === 'check'
  const target = { command, failing: feedback?.failing ?? [] }
  const told = isCheck ? { feedback: target } : {}
  const fewer: PostCondition = isCheck ? { type: 'fewer_failures', ...target } : { type: 'provider_answers' }
  switch (action.type) {
    case 'wait':
      return {
        action: {
          ...{ type: 'wait', name: 'WAIT_AND_REQUEUE', delayMs: action.seconds * 1000 },
          ...{ count: attempts + 1, limit: budget },
          ...(isCheck ? { forChecks: true } : {}),
        },
        postCondition: { type: isCheck ? 'remaining_checks_pass' : 'provider_answers' },
      }
    case 'hint':
      return {
        action: {
          ...{ type: 'relaunch', name: 'RELAUNCH_WITH_OWN_HINT', resume: true, own: name, ...told },
          hint: `${feedback?.text ?? diagnosis.evidence}\n${action.text}`,
        },
        postCondition: fewer,
      }
    case 'switch_harness': {
      const harness = action.harness ?? otherHarness ?? nextHarness
      return harness === undefined || !settings.canUse(harness)
        ? undefined
        : { action: { type: 'switch_harness', name: 'SWITCH_HARNESS', harness, ...told }, postCondition: fewer }
    }
    case 'run':
    case 'ask':
    case 'blame_environment':
      return undefined
  }
}

const attemptsOf = (name: string, history: readonly PastRecovery[]): number =>
  history.filter(({ playbook }) => playbook === ownId(name)).length

/** The match as a record of the ladder, which bounds it as it bounds every other one. */
const asPlaybook = (
  match: OwnMatch,
  diagnosis: Diagnosis,
  { history, settings }: { history: readonly PastRecovery[]; settings: OwnSettings },
): Playbook => {
  const budget = budgetOf(match.playbook)
  const plan = planOf(match, diagnosis, { attempts: attemptsOf(match.name, history), budget, settings })
  const isWait = match.playbook.action.type === 'wait'
  return {
    ...{ id: ownId(match.name), rung: diagnosis.rung, title: match.playbook.title, labels: [diagnosis.label], budget },
    scope: match.playbook.action.type === 'hint' ? 'launch' : 'task',
    neededEvidence: match.playbook.evidence.pattern,
    plan: () => plan?.action,
    postCondition: () => (plan as Plan).postCondition,
    counted: !isWait,
    anyLabel: true,
  }
}

const questionOf = ({ name, playbook: { title, action } }: OwnMatch): OwnQuestion => ({
  name,
  text: action.type === 'ask' ? action.question : `${title}: it did not help`,
  choices: action.type === 'ask' ? (action.choices ?? []) : [],
})

const asking = (match: OwnMatch, reason: string): LadderStep => ({
  ...{ kind: 'exhausted', then: 'escalate', question: questionOf(match) },
  reason: `playbook ${ownId(match.name)} ${reason}`,
})

const shownBy = (diagnosis: Diagnosis, { name, line }: OwnMatch): Diagnosis => ({
  ...diagnosis,
  evidence: `${diagnosis.evidence}; ${ownId(name)} found: ${line}`,
})

/** The failure as one of this machine or its services: the built-in playbooks wait for it, and no agent is charged with it. */
const blamed = (diagnosis: Diagnosis, { name, playbook, line }: OwnMatch): Diagnosis => {
  const { command, remaining = 0 }: AnyFacts = diagnosis.facts
  const common: Pick<Diagnosis, 'rung' | 'failureCode' | 'category' | 'retryable' | 'signature' | 'evidence'> = {
    ...{ rung: diagnosis.rung, failureCode: 'environment_issue', category: 'env', retryable: true },
    ...{ signature: diagnosis.signature, evidence: `${ownId(name)} found: ${line}` },
  }
  return command === undefined
    ? { ...common, rung: 2, label: 'temporary_failure', facts: {} }
    : { ...common, label: 'service_unavailable', facts: { command, remaining, machine: `${playbook.title} (${line})` } }
}

interface Given {
  evidence: Evidence
  diagnosis: Diagnosis
  history: readonly PastRecovery[]
  policy: LadderSettings
  task: { id: string; runId: string; fruitless?: number; harness: string }
}

/** A command is proposed as long as its budget lasts; what follows without it is chosen as well. */
const commandOf = (
  match: OwnMatch,
  history: readonly PastRecovery[],
  settings: OwnSettings,
): OwnCommand | undefined => {
  const { action } = match.playbook
  const attempts = attemptsOf(match.name, history)
  return action.type === 'run' && settings.mayPropose && attempts < budgetOf(match.playbook)
    ? { ...match, action, attempt: attempts + 1 }
    : undefined
}

/** Undefined = the owner has no playbook for this failure, or none that has a budget left. */
export const ownTurn = ({ evidence, diagnosis, history, policy, task }: Given): OwnTurn | undefined => {
  const { own: settings } = policy
  const subject = settings && subjectOf(evidence, diagnosis, task.harness)
  if (settings === undefined || subject === undefined) return undefined
  const matches = matchesOf(settings.playbooks, subject).filter(({ name }) => !policy.disabled.includes(ownId(name)))
  let proposes: OwnCommand | undefined
  const turn = (found: Diagnosis, step?: LadderStep): OwnTurn => ({
    diagnosis: found,
    ...defined({ step, proposes }),
  })
  for (const match of matches) {
    const { action, then } = match.playbook
    const shown = shownBy(diagnosis, match)
    if (action.type === 'blame_environment') return turn(blamed(diagnosis, match))
    if (action.type === 'ask') return turn(shown, asking(match, 'asks a person'))
    const command = commandOf(match, history, settings)
    proposes ??= command
    if (command !== undefined) continue
    const step =
      action.type === 'run'
        ? undefined
        : nextStep(shown, history, { ...policy, playbooks: [asPlaybook(match, shown, { history, settings })] }, task)
    if (step?.kind === 'recover') return turn(shown, step)
    const isSpent = attemptsOf(match.name, history) >= budgetOf(match.playbook)
    if (then === 'ask' && isSpent) return turn(shown, asking(match, 'has used its budget'))
  }
  return proposes === undefined ? undefined : turn(shownBy(diagnosis, proposes))
}

/** Whether the owner's playbook decided: nothing else goes before it. */
export const isOwnStep = (step: LadderStep): boolean =>
  step.kind === 'recover' ? step.playbook.anyLabel === true : step.question !== undefined
