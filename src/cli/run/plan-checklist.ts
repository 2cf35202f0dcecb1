/** The work of `unstuck plan`: lets the engine plan a goal that runs nothing, and prints the plan as a checklist. */
import { z } from 'zod'
import type { EventView } from '../../api/contract.ts'
import { AppError, exitCodes } from '../../errors.ts'
import type { JsonOption } from '../command-options.ts'
import { printJson, printLine, type Io } from '../io.ts'
import type { Live } from '../live/live.ts'
import { safe } from '../render.ts'
import { durationText } from '../times.ts'
import { interrupted } from './end.ts'
import { planOnly } from './run.ts'

const planSchema = z.looseObject({
  tasks: z.array(
    z.looseObject({
      title: z.string(),
      instructions: z.string(),
      purpose: z.string(),
      role: z.string(),
      allowedPaths: z.array(z.string()),
      commands: z.array(z.string()),
      after: z.array(z.number()),
    }),
  ),
  notes: z.array(z.string()),
  policyRecoveryHintApplications: z.array(
    z.looseObject({ taskIndex: z.number(), addedAllowedPaths: z.array(z.string()) }),
  ),
  earlier: z.object({ tasks: z.number(), tokens: z.number(), costUsd: z.number(), seconds: z.number() }),
  reason: z.string().exactOptional(),
})
type ShownPlan = z.output<typeof planSchema>

export interface PlanOptions extends JsonOption {
  harness?: string
}

const indented = (text: string): string[] => text.split('\n').map((line) => (line.trim() === '' ? '' : `  ${line}`))

/**
 * Instructions that a checklist reads as instructions: a bullet with a word and a colon would be a setting, and a fence that is not closed
 * an error.
 */
const asText = (text: string): string =>
  text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/^([^\S\n]*)([-*+]|\d{1,9}[.)])([^\S\n]+[A-Za-z]+:)/gm, '$1\\$2$3')
    .replaceAll(/^([^\S\n]*(?:[-*+]\s+)?)(`{3,}|~{3,})/gm, '$1\\$2')

const taskLines = ({
  title,
  instructions,
  purpose,
  role,
  allowedPaths,
  commands,
  after,
}: ShownPlan['tasks'][number]): string[] => [
  `- [ ] ${title}`,
  ...(role === 'worker' ? [] : [`  - role: ${role}`]),
  ...(allowedPaths.includes('**') ? [] : [`  - paths: ${allowedPaths.map((path) => `\`${path}\``).join(', ')}`]),
  ...commands.map((command) => `  - run: \`${command}\``),
  ...(after.length === 0 ? [] : [`  - after: ${after.map((other) => other + 1).join(', ')}`]),
  ...indented(asText(instructions)),
  ...indented(`For the goal: ${asText(purpose)}`),
]

const inOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ')

/** What the tasks of the plan would use, if each were like the costliest tenth of the tasks before. */
const costLine = ({ tasks, earlier }: ShownPlan): string => {
  if (earlier.tasks === 0) return 'No task of this repository has ended yet, so there is no estimate of the cost.'
  const most = (each: number): number => Math.ceil(each * tasks.length)
  const money = earlier.costUsd === 0 ? '' : `, $${(earlier.costUsd * tasks.length).toFixed(2)}`
  return `Worst case: ${most(earlier.tokens)} tokens${money}, ${durationText(most(earlier.seconds))} of agents, if each task costs as much as the costliest tenth of the ${earlier.tasks} tasks before.`
}

const graphLines = ({ tasks }: ShownPlan): string[] => {
  const edges = tasks.flatMap(({ after }, at) => after.map((other) => `  ${other + 1} --> ${at + 1}`))
  return edges.length === 0 ? [] : ['', '```mermaid', 'graph LR', ...edges, '```']
}

/** The plan as a checklist that `unstuck run` reads. What is no box stands at the margin, in one line each. */
export const planLines = (title: string, plan: ShownPlan): string[] => [
  `# ${title}`,
  '',
  ...plan.tasks.flatMap(taskLines),
  ...graphLines(plan),
  '',
  ...(plan.reason === undefined ? [] : [`There is no plan, so the goal is one task: ${inOneLine(plan.reason)}`]),
  ...plan.notes.map((note) => `Note: ${inOneLine(note)}.`),
  ...plan.policyRecoveryHintApplications.map(
    ({ taskIndex, addedAllowedPaths }) =>
      `Note: task ${taskIndex + 1} may also change ${addedAllowedPaths.join(', ')}, because earlier tasks needed it.`,
  ),
  costLine(plan),
]

export const showPlanOf = async (
  { live, io }: { live: Live; io: Io },
  words: string[],
  options: PlanOptions,
): Promise<number> => {
  const planned = await planOnly(live, words, options)
  const { goal, client, isInterrupted } = planned
  if (isInterrupted) {
    io.error(`The planner keeps running; to stop it: unstuck cancel ${goal.id}\n`)
    return interrupted
  }
  const events = await client.all<EventView>(`/events?after=0&goal=${goal.id}`)
  const event = events.find(({ type }) => type === 'planner.plan_created')
  if (event === undefined)
    throw new AppError('NOT_FOUND', `goal ${goal.id} has no plan; what happened: unstuck explain ${goal.id}`)
  const plan = planSchema.parse(event.payload)
  if (options.json === true) printJson(io, { goal: goal.id, ...plan })
  else for (const text of planLines(goal.title, plan)) printLine(io, safe(text))
  return exitCodes.ok
}
