/** A question as lines of text: what happened, what was tried, what would help. CLI, API and notifications share these words. */
import type { Escalation } from './escalation.ts'

type Shown = Pick<Escalation, 'happened' | 'tried' | 'choices' | 'runId'>

export const questionLines = ({ happened, tried, choices, runId }: Shown): string[] => [
  happened,
  ...tried.map((text) => `Tried: ${text}`),
  'What would help:',
  ...choices.map(({ label, command }) => `  ${label}: ${command}`),
  ...(runId === null ? [] : [`To see its output: unstuck logs ${runId}`]),
]
