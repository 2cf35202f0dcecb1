/** A question as lines of text: what happened, what was tried, what would help. CLI, API and notifications share these words. */
import { isAboutDetails, offersChoice, type Escalation } from './escalation.ts'

type Shown = Pick<Escalation, 'happened' | 'tried' | 'choices' | 'runId' | 'kind' | 'details'>

export const questionLines = ({ happened, tried, choices, runId, kind, details }: Shown): string[] => [
  happened,
  // The decision is about these lines.
  ...(isAboutDetails({ kind }) ? details.split('\n') : []),
  ...tried.map((text) => `Tried: ${text}`),
  ...(isAboutDetails({ kind }) ? [] : details.split('\n').filter((line) => line.startsWith('Next step: '))),
  'What would help:',
  ...choices.map(({ label, command }) => `  ${label}: ${command}`),
  // About finished work, what it changes says more than what its agent printed.
  ...(runId === null
    ? []
    : offersChoice({ choices }, 'approve')
      ? [`To look at the work: unstuck diff ${runId}`]
      : [`To see its output: unstuck logs ${runId}`]),
]
