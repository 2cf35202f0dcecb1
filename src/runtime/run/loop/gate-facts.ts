/** What the gates of an iteration are decided from: the reviewer's words, the plan, the named files, and open questions. */
import { createHash } from 'node:crypto'
import { isAbsolute, join, normalize } from 'node:path'
import type { LoopState } from '../../../domain/loop.ts'
import type { GateFacts } from '../../../recovery/loop/iteration.ts'
import { boxesIn } from '../../../recovery/loop/open-boxes.ts'
import { readReview, type NamedFile, type Review } from '../../../recovery/loop/review.ts'
import { isAboutGoal } from '../../../domain/escalation.ts'
import { listEscalations } from '../../../store/escalation.ts'
import { readLaunch } from '../../agent/denials.ts'
import { keptPlan, keptReport } from '../../agent/turn-reports.ts'
import { workTreeOf, type RunContext } from '../../core/run-context.ts'
import { planFileMatcher } from './plan-files.ts'
import { defined } from '../../../domain/defined.ts'

/** Only the CLI's own final event: other output may hold what a tool printed. */
const finalMessage = (runContext: RunContext): string | undefined => {
  const { final } = readLaunch(runContext)
  return final === undefined || final.isError ? undefined : final.text
}

const reviewOf = (runContext: RunContext): Review => {
  const [file, message] = [keptReport(runContext, 'review.json'), finalMessage(runContext)]
  return readReview({ ...defined({ file, message }) }, runContext.context.config().loop.completion_promise)
}

const mostBytes = 64 * 1024 * 1024

/** What is wrong with a file that the reviewer named; undefined = it is as named. Links are not followed, not even to a file inside. */
const wrongFile = (runContext: RunContext, { path, sha256 }: NamedFile): string | undefined => {
  const { files } = runContext.context.ports
  const inside = normalize(path)
  if (isAbsolute(path) || inside.startsWith('..')) return `${path} is not a path inside the repository`
  const root = files.realpathSync(workTreeOf(runContext))
  const whole = join(root, inside)
  if (!files.existsSync(whole)) return `${path} does not exist`
  if (files.realpathSync(whole) !== whole) return `${path} is reached by a link`
  const bytes = files.readOwnBytes(whole, mostBytes)
  if (bytes === 'none') return `${path} does not exist`
  if ('refused' in bytes) return `${path}: ${bytes.refused}`
  const now = createHash('sha256').update(bytes).digest('hex')
  return now === sha256 ? undefined : `${path} has the SHA-256 ${now}, not ${sha256} as the reviewer named`
}

const checklistOf = async (runContext: RunContext, tree: string): Promise<Pick<GateFacts, 'checklist' | 'hasPlan'>> => {
  const { context } = runContext
  const { git } = context.ports
  const plans = keptPlan(runContext)
  const hasPlan = plans.some(({ file }) => file === 'plan.md')
  if (context.config().loop.plan_files.length > 0)
    for (const file of (await git.filesOf(context.shadow, tree)).filter(planFileMatcher(runContext)))
      plans.push({ file, text: (await git.textAt(context.shadow, tree, file)) ?? '' })
  const checklist = plans.map(({ file, text }) => ({ file, ...boxesIn(text) })).filter(({ count }) => count > 0)
  return { hasPlan, checklist }
}

const openQuestions = async ({ context, run }: RunContext): Promise<string[]> =>
  (await listEscalations(context.db, { goalId: run.goalId, pendingOnly: true })).flatMap((asked) =>
    isAboutGoal(asked) || asked.taskId === run.taskId ? [asked.question] : [],
  )

export const gateFacts = async (runContext: RunContext, { tests }: LoopState, tree: string): Promise<GateFacts> => {
  const review = reviewOf(runContext)
  const evidence = review.ok ? review.evidence : []
  return {
    ...{ review, tests, tree },
    ...(await checklistOf(runContext, tree)),
    wrongEvidence: evidence.flatMap((file) => wrongFile(runContext, file) ?? []),
    openQuestions: await openQuestions(runContext),
  }
}
