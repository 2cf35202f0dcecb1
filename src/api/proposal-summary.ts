/** What the proposals of agents came to, over all goals: the metrics of the founding document for the API. */
import { proposalKinds } from '../domain/recovery-metrics.ts'
import type { Queryable } from '../store/db.ts'
import { proposalNumbers, questionNumbers, type ProposalNumbers, type Sample } from '../store/metrics.ts'

const sumOf = (samples: readonly Sample[], accepts: (labels: Sample['labels']) => boolean = () => true): number =>
  samples.filter(({ labels }) => accepts(labels)).reduce((sum, { value }) => sum + value, 0)

const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole)

/** A command whose effect was not observed yet counts for neither. */
export const proposalSummary = ({ proposals, commands }: Pick<ProposalNumbers, 'proposals' | 'commands'>) => {
  const ended = commands.filter(({ labels }) => labels['approval'] !== 'human' && labels['outcome'] !== 'running')
  const autoSucceeded = sumOf(ended, ({ outcome }) => outcome === 'success')
  const all = sumOf(ended)
  return {
    proposals: sumOf(proposals),
    categories: Object.fromEntries(
      proposals.toSorted((a, b) => b.value - a.value).map(({ labels, value }) => [labels['category'] ?? '', value]),
    ),
    ...{ autoSucceeded, autoFailed: all - autoSucceeded, autoSuccessRate: share(autoSucceeded, all) },
  }
}

const isAboutProposal = ({ kind }: Sample['labels']): boolean => proposalKinds.some((known) => known === kind)

export const recoverySummary = async (db: Queryable) => {
  const numbers = await proposalNumbers(db)
  const { asked, seconds } = await questionNumbers(db)
  const summary = proposalSummary(numbers)
  const answered = seconds.filter(({ labels }) => isAboutProposal(labels))
  const count = answered.flatMap(({ counts }) => counts).reduce((sum, n) => sum + n, 0)
  const escalations = sumOf(asked, isAboutProposal)
  return {
    ...summary,
    proposalsPerGoal: share(summary.proposals, numbers.goals),
    ...{ escalations, escalationFrequency: share(escalations, summary.proposals) },
    resolutionSeconds: share(
      answered.reduce((total, { sum }) => total + sum, 0),
      count,
    ),
  }
}
