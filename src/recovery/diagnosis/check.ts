/**
 * Diagnoses a failed verification command. Facts decide first: whether the command can be planned, whether the script exists,
 * whether it timed out. Otherwise the classifier names the cause, which alone never leads to dropping the check.
 */
import type { Install } from '../../domain/install.ts'
import type { CheckFacts, Finding, UnrunnableFacts } from '../types.ts'
import type { ObservedCheck } from '../evidence.ts'
import { absentIn, faultOf, findingsOf } from '../probe.ts'
import { absentText } from '../probes/project.ts'
import type { ProbeFinding } from '../probes/measurement.ts'
import { chooseInstall, ownersFiles } from '../install.ts'
import { isClaim, labels, type ClaimLabel, type Label } from './labels.ts'
import { builtFirst, reordered } from '../command/order.ts'
import { alikeText, failsAlikeOnBase, failsOnBaseToo, outages, unkeptIn } from './alike-on-base.ts'
import { classify, type Classification } from './classify.ts'
import { explained, withFeedback, type CheckDiagnosis } from './finish-check.ts'
import { cannotRun, compared, statusText, failureText, tellingLine, unkeptText } from './check-text.ts'
import { defined } from '../../domain/defined.ts'

const verification = { rung: 4 } as const

const ranOnBase = ({ baseline }: ObservedCheck): boolean => baseline?.state === 'passes' || baseline?.state === 'fails'

const factsOf = ({ command, remaining }: ObservedCheck): CheckFacts => ({ command, remaining })

const brokenBy = (check: ObservedCheck, evidence: string): CheckDiagnosis => ({
  ...verification,
  label: 'check_failed',
  failureCode: 'verification_command_failed',
  category: 'test',
  retryable: true,
  evidence,
  facts: factsOf(check),
})

const droppable = ({ rest, mustRun }: ObservedCheck, applies: boolean): Partial<UnrunnableFacts> => {
  if (!applies) return {}
  const may = mustRun === true ? ({ adjustable: true } as const) : ({ droppable: true, askable: true } as const)
  return rest === undefined ? may : { ...may, rest }
}

const askable = (check: ObservedCheck, label: string): { askable?: true } =>
  check.mustRun !== true && failsAlikeOnBase(check, label) ? { askable: true } : {}

/** For a missing script or target: the last check may be dropped if only documentation changed. */
const without = ({ needsNone }: ObservedCheck): { needsNone?: true } => (needsNone === undefined ? {} : { needsNone })

const narrowed = (check: ObservedCheck, label: string): { narrowed?: string } =>
  check.narrowed === undefined || check.mustRun === true || !failsAlikeOnBase(check, label)
    ? {}
    : { narrowed: check.narrowed }

/** No test ran. If the base commit ran tests, the work removed them, which is a failure of the work. */
const ranNoTest = (check: ObservedCheck, evidence: string): CheckDiagnosis => {
  if (ranOnBase(check))
    return brokenBy(check, `${check.command} ran no test (${evidence}), but it ran tests on the base commit`)
  const old = check.baseline?.state === 'no tests' || failsAlikeOnBase(check, 'no_test_files')
  // A drop needs a fact, not the runner's words alone: it counted zero tests, or its file argument does not exist.
  const isFact = check.countedNone === true || check.missingFile !== undefined
  return {
    ...verification,
    label: 'no_test_files',
    failureCode: 'verification_command_no_test_files',
    category: 'setup',
    retryable: false,
    evidence:
      check.missingFile === undefined
        ? `${check.command} ran no test (${evidence})${compared(check)}`
        : cannotRun(`${check.command}: there is no file ${check.missingFile}${compared(check)}`),
    facts: { ...factsOf(check), ...droppable(check, old && isFact), ...narrowed(check, 'no_test_files') },
  }
}

type Machine = Pick<CheckFacts, 'machine'>

interface Probed {
  seen: string[]
  machine: Machine
  fault?: ProbeFinding['points']
}

/** What the probes add: their findings, and what is at fault if they can tell. */
const probed = (check: ObservedCheck, label: Label): Probed => {
  const findings = findingsOf(check.measurements ?? [], label)
  const fault = faultOf(label, findings)
  return {
    seen: findings.map(({ text }) => text),
    machine: fault?.points === 'environment' ? { machine: fault.text } : {},
    ...(fault === undefined ? {} : { fault: fault.points }),
  }
}

const probedOrAlike = (check: ObservedCheck, found: Classification): Probed => {
  const told = probed(check, found.label)
  const machine = told.fault === undefined ? alikeText(check, found, told.seen) : undefined
  return machine === undefined ? told : { ...told, machine: { machine }, fault: 'environment' }
}

const installKinds = new Set<string>(['install', 'reinstall'])

const installOf = (check: ObservedCheck, evidence: string): { install?: Install } => {
  const install = chooseInstall(check.installs ?? [], check.command, evidence)
  return install === undefined ? {} : { install }
}

const orderOf = ({ plan = [], command }: ObservedCheck): { order?: string[] } => {
  const order = reordered(plan, plan.indexOf(command))
  return order === undefined ? {} : { order }
}

/** Whether the makefile, the manifest or the base commit contradicts the cause that the output names. */
const isUnproven = (check: ObservedCheck, label: Label): boolean => {
  // A test may print the same message.
  if (label === 'missing_make_target') return check.make?.missing.length === 0 || ranOnBase(check)
  return label === 'missing_script' && (check.narrowed === undefined || !failsAlikeOnBase(check, label))
}

type NamedLabel = Exclude<Label, ClaimLabel | 'no_test_files'>

/** Whether the unknown target is one of the command line, not a prerequisite of another rule. */
const lacksNamed = ({ make }: ObservedCheck, line: string): boolean =>
  (make?.missing ?? []).some((target) =>
    [`'${target}'`, `\`${target}'`, `‘${target}’`, `"${target}"`].some((text) => line.includes(text)),
  )

/** Labels of a command that never started. */
const neverStartedLabels = new Set<Label>(['missing_script', 'missing_make_target', 'command_not_found'])

const neverStarted = (check: ObservedCheck, label: Label): boolean =>
  check.missingFile !== undefined
    ? neverStartedLabels.has(label)
    : failsAlikeOnBase(check, label) && neverStartedLabels.has(label)

/** What no install of the repository brings does not appear by waiting, and each retry would cost a launch. */
const unlessInstalled = ({ install }: { install?: Install }): { retryable?: false } =>
  install === undefined ? { retryable: false } : {}

/** The same, where the base commit lacks it in the same way. */
const unlessBrought = (
  check: ObservedCheck,
  label: Label,
  install: { install?: Install } = {},
): { retryable?: false } => (failsAlikeOnBase(check, label) ? unlessInstalled(install) : {})

/** The finding for a cause that the output names. It allows dropping the check only if the base commit shows the same cause. */
const named = (check: ObservedCheck, label: NamedLabel, found: Classification, machine: Machine): CheckDiagnosis => {
  const facts = { ...factsOf(check), ...machine }
  const install = installKinds.has(found.recoveryKind) ? installOf(check, found.evidence) : {}
  const { failureCode, category, retryable } = found
  const row = { ...verification, failureCode, category, retryable, evidence: ended(check, label, found.evidence) }
  if (label === 'missing_make_target') {
    const lacks = failsAlikeOnBase(check, label) && lacksNamed(check, found.evidence)
    return { ...row, label, facts: { ...facts, ...droppable(check, lacks), ...without(check) } }
  }
  if (label === 'invalid_usage') return { ...row, label, facts: { ...facts, ...askable(check, label) } }
  if (label === 'missing_script') return { ...row, label, facts: { ...facts, ...narrowed(check, label) } }
  if (label === 'sequence_issue') return { ...row, label, facts: { ...facts, ...orderOf(check) } }
  if (label === 'dependency_missing')
    return {
      ...{ ...row, ...unlessBrought(check, label, install), label },
      facts: { ...facts, ...install, ...narrowed(check, label) },
    }
  if (label === 'build_artifact_missing' || label === 'missing_env_var' || label === 'terminal_missing')
    return { ...row, ...unlessBrought(check, label), label, facts }
  if (label === 'command_not_found')
    return { ...row, ...unlessInstalled(install), label, facts: { ...facts, ...install, ...narrowed(check, label) } }
  if (label === 'runtime_version') return { ...row, label, retryable: false, facts }
  if (label === 'corrupted_install' || label === 'dependency_version_conflict')
    return { ...row, label, facts: { ...facts, ...install } }
  return { ...row, label, facts }
}

const outage = (check: ObservedCheck, found: Classification, machine: Machine): CheckDiagnosis => ({
  ...verification,
  label: 'network_unreachable',
  failureCode: 'environment_issue',
  category: 'env',
  retryable: found.retryable,
  evidence: failureText(check, found.evidence),
  facts: { ...factsOf(check), ...machine },
})

const ended = (check: ObservedCheck, label: Label, line: string): string =>
  neverStarted(check, label) ? cannotRun(failureText(check, line)) : failureText(check, line)

/** The clone lacks what the owner's checkout has: the work is not to blame, and no agent can mend it. */
const withoutFiles = (check: ObservedCheck, found: Classification): CheckDiagnosis | undefined => {
  const absent = absentIn(check)
  if (absent.length === 0 || !failsOnBaseToo(check)) return undefined
  const plain = absent.filter(({ asks }) => !asks).map(({ path }) => path)
  // Another check of the plan builds it.
  if (plain.length === 0 && (found.label === 'sequence_issue' || orderOf(check).order !== undefined)) return undefined
  const buildable = absent.some(({ isFolder }) => isFolder)
    ? '; workspace.setup in .unstuck/config.json can make it'
    : ''
  return {
    ...verification,
    label: 'dependency_missing',
    failureCode: 'setup_or_bootstrap_issue',
    category: 'setup',
    // Only the owner's answer brings it: neither waiting nor an agent does.
    retryable: plain.length > 0,
    evidence: `${failureText(check, found.evidence)}: ${absentText(absent)}`,
    facts: {
      ...factsOf(check),
      ...(plain.length > 0
        ? { install: ownersFiles(plain) }
        : {
            machine: `${absentText(absent)}${buildable}`,
            copyable: absent.filter(({ isFolder }) => !isFolder).map(({ path }) => path),
          }),
    },
  }
}

/** A build of the repository was seen to make the check run. */
const unbuilt = (
  check: ObservedCheck,
  { evidence }: Classification,
  { command: build, install }: NonNullable<ObservedCheck['build']>,
): CheckDiagnosis => ({
  ...verification,
  label: 'sequence_issue',
  failureCode: labels.sequence_issue.code,
  category: 'setup',
  retryable: false,
  evidence: `${failureText(check, evidence)}; it runs after ${build}`,
  facts: {
    ...{ ...factsOf(check), build, order: builtFirst(check.plan ?? [], check.command, build) },
    ...defined({ install }),
  },
})

/** Diagnoses by the output. Without a named cause the result is a plain failed check. */
const readOutput = (check: ObservedCheck): CheckDiagnosis => {
  const { command, exitCode, signal, stdout, stderr, plan = [] } = check
  const found = classify({ command, exitCode, signal, stdout, stderr, plan, planIndex: plan.indexOf(command) })
  const { label } = found
  if (check.build !== undefined) return unbuilt(check, found, check.build)
  if (label === 'no_test_files') return ranNoTest(check, found.evidence)
  const lacking = withoutFiles(check, found)
  if (lacking !== undefined) return lacking
  const unkept = unkeptIn(check)
  if (unkept.length > 0) return brokenBy(check, `${ended(check, label, found.evidence)}; ${unkeptText(unkept)}`)
  if (check.refusedInstall !== undefined && labels[label].code === 'setup_or_bootstrap_issue')
    return brokenBy(check, ended(check, label, `${found.evidence}; ${check.refusedInstall}`))
  const { seen, fault, machine } = probedOrAlike(check, found)
  if (fault === 'environment' && outages.has(label)) return { seen, ...outage(check, found, machine) }
  if (fault === 'work' || isClaim(label) || isUnproven(check, label))
    return { ...brokenBy(check, ended(check, label, label === 'unknown' ? tellingLine(check) : found.evidence)), seen }
  return { seen, ...named(check, label, found, machine) }
}

const notStarted = (check: ObservedCheck, evidence: string): CheckDiagnosis => {
  const { seen, machine } = probed(check, 'command_not_found')
  return {
    ...verification,
    label: 'command_not_found',
    failureCode: 'setup_or_bootstrap_issue',
    category: 'setup',
    retryable: true,
    ...unlessInstalled(installOf(check, evidence)),
    evidence,
    seen,
    facts: { ...factsOf(check), ...machine, ...installOf(check, evidence) },
  }
}

/** Not a script that is one of the checks anyway, because then nothing would replace the failed check. */
const replacementOf = ({ script, mustRun, plan = [] }: ObservedCheck): { replacement?: string } =>
  script?.replacement === undefined || mustRun === true || plan.includes(script.replacement)
    ? {}
    : { replacement: script.replacement }

export const diagnoseCheck = (check: ObservedCheck, otherHarness?: string): Finding =>
  explained(check, withFeedback(check, findCause(check), otherHarness))

const findCause = (check: ObservedCheck): CheckDiagnosis => {
  const facts = factsOf(check)
  if (check.unsupported !== undefined && check.script?.inBase === false)
    return brokenBy(
      check,
      `${check.command}: ${check.unsupported.reason} (${check.unsupported.piece}), unlike on the base commit`,
    )
  if (check.unsupported !== undefined) {
    return {
      ...verification,
      label: 'unsupported_format',
      failureCode: 'verification_command_unsupported_format',
      category: 'setup',
      retryable: false,
      evidence: `${check.unsupported.reason}: ${check.unsupported.piece}`,
      facts: { ...facts, ...droppable(check, true) },
    }
  }
  if (check.ranNothing !== undefined) return ranNoTest(check, check.ranNothing)
  if (check.script?.exists === false && check.script.inBase === true)
    return brokenBy(
      check,
      `${check.script.manifest} has no script "${check.script.name}" any more; the base commit has it (${check.command}: ${statusText(check)})`,
    )
  if (check.script !== undefined && !check.script.exists) {
    return {
      ...verification,
      label: 'missing_script',
      failureCode: 'verification_command_missing_script',
      category: 'setup',
      retryable: false,
      evidence: cannotRun(
        `${check.script.manifest} has no script "${check.script.name}" (${check.command}: ${statusText(check)})`,
      ),
      facts: { ...facts, ...droppable(check, true), ...without(check), ...replacementOf(check) },
    }
  }
  if (check.timedOut) {
    return {
      ...verification,
      label: 'timeout',
      failureCode: 'timeout',
      category: 'flaky',
      retryable: true,
      evidence: `${check.command} ran out of time`,
      facts,
    }
  }
  if (check.spawnError !== undefined) return notStarted(check, cannotRun(`${check.command}: ${check.spawnError}`))
  return readOutput(check)
}
