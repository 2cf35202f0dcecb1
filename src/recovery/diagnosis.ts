/** Diagnoses a failure. Pure: the same evidence always gives the same diagnosis. */
import { diagnoseLaunch, diagnoseDenials } from './diagnosis/launch-failure.ts'
import { diagnoseCheck } from './diagnosis/check.ts'
import { diagnoseDirectory } from './diagnosis/directory.ts'
import { diagnoseDirectly, isDirectEvidence } from './diagnosis/direct-evidence.ts'
import type { LabelMeaning } from './diagnosis/labels.ts'
import type { Evidence, ObservedStall } from './evidence.ts'
import { signatureOf } from './signature.ts'
import type { NoProgress } from './stall.ts'
import type { Diagnosis, Finding } from './types.ts'
import { defined } from '../domain/defined.ts'

type Row = Omit<LabelMeaning<NoProgress>, 'label'>

const stallRow: Row = { rung: 3, failureCode: 'timeout', category: 'flaky', retryable: true }
const stallRows: Record<NoProgress, Row> = {
  silence: stallRow,
  stuck_after_tool_result: stallRow,
  hanging_tool: stallRow,
  waiting_for_person: stallRow,
  agent_died: { rung: 3, failureCode: 'model_or_unknown_failure', category: 'model', retryable: true },
  doom_loop: { rung: 3, failureCode: 'model_doom_loop', category: 'model_loop', retryable: true },
}

const diagnoseStall = ({ kind, text, tree, ...seen }: ObservedStall): Finding => {
  const { call, changed, started, left, again } = seen
  return {
    ...stallRows[kind],
    label: kind,
    evidence: text,
    facts: {
      ...defined({ call }),
      tree,
      ...defined({ changed, started, left, again }),
    },
  }
}

/** Failures that a proxy which does not answer explains. */
const proxied = new Set<string>([
  ...['provider_overloaded', 'network_transient', 'stream_cut', 'temporary_failure'],
  ...['unknown', 'silence', 'agent_died'],
])

const throughProxy = (found: Finding, { proxy }: { proxy?: string }): Finding =>
  proxy === undefined || !proxied.has(found.label) ? found : { ...found, seen: [...(found.seen ?? []), proxy] }

const find = (evidence: Evidence): Finding => {
  if (isDirectEvidence(evidence)) return diagnoseDirectly(evidence)
  switch (evidence.kind) {
    case 'launch':
      return throughProxy(diagnoseLaunch(evidence), evidence)
    case 'denial':
      return diagnoseDenials(evidence.harness, evidence.denials)
    case 'stall':
      return throughProxy(diagnoseStall(evidence.stall), evidence)
    case 'check':
      return diagnoseCheck(evidence.check, evidence.otherHarness)
    case 'directory':
      return diagnoseDirectory(evidence.directory)
  }
}

export const diagnose = (evidence: Evidence): Diagnosis => {
  const { seen = [], ...found } = find(evidence)
  return {
    ...found,
    signature: signatureOf(found.failureCode, found.label, found.evidence),
    evidence: [found.evidence, ...seen].join('; '),
  }
}
