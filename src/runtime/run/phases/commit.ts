/**
 * Phase `commit`: makes one commit of the permitted paths. Equal input gives an equal commit, so the phase can be
 * repeated after a crash.
 */
import { commitMessage, signOffOf, type CommitText } from '../../../domain/commit-message.ts'
import { preexistingFailures, type CheckResult, type CommitIntent, type Verdict } from '../../../domain/run.ts'
import { proofText } from '../../../domain/proof.ts'
import type { Task } from '../../../domain/task.ts'
import { failuresText } from '../../../domain/preexisting-failures.ts'
import { weakeningText } from '../../../recovery/weakened.ts'
import type { ChangeList } from '../../../workspace/repository-types.ts'
import { getTask } from '../../../store/task.ts'
import { collectedWork } from '../../agent/collected.ts'
import { messageFacts } from '../../core/message-facts.ts'
import { withoutSecrets } from '../../core/without-secrets.ts'
import { saveProgress, type RunContext } from '../../core/run-context.ts'
import { publishesRunRefs } from '../../landing/run-refs.ts'
import { checkChangedPaths } from '../path-fence.ts'
import type { PhaseResult, Phase } from '../phase.ts'
import { publishRun } from '../remote-run.ts'

const checkLine = ({ command, excused }: CheckResult): string => {
  if (excused === undefined) return `${command}: passed`
  if (excused.because === 'flaky') return `${command}: flaky (${excused.failing.join('; ').slice(0, 500)})`
  return `${command}: passed but for what failed before the work`
}

const part = (head: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${head}\n${lines.map((text) => `- ${text}`).join('\n')}`]

/** What the verdict is based on. If no check ran, the message says so, and no other line may read as if one had. */
const verdictParts = ({ outcome, checks, dropped, notes, weakened = [], proof }: Verdict): string[] => [
  ...(outcome === 'verified'
    ? part('Verified by:', checks.map(checkLine))
    : [outcome === 'nothing to verify' ? 'Nothing to verify: no check ran.' : 'Not verified.']),
  ...part(
    'Not run:',
    dropped.map(({ command, reason, by }) => `${command}: ${by === undefined ? '' : `${by} ran instead; `}${reason}`),
  ),
  ...part(
    'Still failing, as before the work:',
    preexistingFailures(checks).map((red) => failuresText([red])),
  ),
  ...part('Proof:', proof === undefined ? [] : [proofText(proof)]),
  ...part('Tests and checks weakened:', weakened.map(weakeningText)),
  ...part('Noted:', notes),
]

/** The task that a person or a plan wrote: the history of a repository says what was asked for, not how often it was tried. */
const writtenTask = async ({ context, task }: RunContext): Promise<Task> => {
  let at = task
  for (const seen = new Set<string>(); at.rework !== null && !seen.has(at.id);) {
    seen.add(at.id)
    at = (await getTask(context.db, at.rework.parent)) ?? at
  }
  return at
}

/** Cleaned before it is cut: of half a secret the shape is not recognized. */
const bodyOf = ({ context, run }: RunContext, { instructions }: Task): string =>
  [withoutSecrets(context, instructions).slice(0, 2_000), ...(run.verdict === null ? [] : verdictParts(run.verdict))]
    .filter((text) => text !== '')
    .join('\n\n')

/** A time as git writes it, with the time zone of this machine. */
const stampOf = (now: Date): string => {
  const minutes = -now.getTimezoneOffset()
  const two = (value: number): string => String(Math.trunc(Math.abs(value))).padStart(2, '0')
  return `@${Math.floor(now.getTime() / 1000)} ${minutes < 0 ? '-' : '+'}${two(minutes / 60)}${two(minutes % 60)}`
}

/** Author and time are stored once, so that a replay on another machine or at another time makes the same commit. */
const intentOf = async (runContext: RunContext): Promise<CommitIntent> => {
  const { context, run } = runContext
  if (run.commitIntent !== null) return run.commitIntent
  const author = (await context.ports.git.authorOf(context.repository)) ?? null
  const intent = { author, at: stampOf(context.clock.now()) }
  await saveProgress(runContext, { commitIntent: intent })
  context.at('commit-intended')
  return intent
}

/** As the repository writes its messages. Base and work decide alone, so a replay gives the same. */
const messageOf = async (runContext: RunContext, written: Task, { base, changes }: ChangeList): Promise<CommitText> => {
  const { context } = runContext
  // Cleaned before lines are broken or cut: of half a secret the shape is not recognized.
  const clean = (text: string): string => withoutSecrets(context, text)
  const text = { title: clean(written.title), body: clean(bodyOf(runContext, written)) }
  const changed = changes.map(({ path }) => path)
  return commitMessage(text, await messageFacts(context, base, changed))
}

const goBack = async (runContext: RunContext, phase: 'policy' | 'verify'): Promise<PhaseResult> => {
  await saveProgress(runContext, { phase })
  return 'on'
}

/** Builds the commit, and publishes it where another engine may do the merge. */
export const commit: Phase = async (runContext) => {
  const { context, run, task } = runContext
  const base = run.baseCommit ?? ''
  const found = await collectedWork(runContext)
  // The commit must be exactly the tree that was checked. Since then the owner may have denied a path, or an engine
  // of an older version ran the checks.
  const { violations } = await checkChangedPaths(runContext, found)
  if (violations.length > 0) return goBack(runContext, 'policy')
  if (run.verdict?.tree !== found.tree) return goBack(runContext, 'verify')
  const { tree } = found
  const { author, at } = await intentOf(runContext)
  const { subject, body, isSignedOff } = await messageOf(runContext, await writtenTask(runContext), found)
  const made = await context.ports.git.buildCommit(context.shadow, {
    ...(author === null ? { at } : { author, at }),
    base,
    tree,
    ...{ subject, body },
    trailers: {
      ...signOffOf(author, isSignedOff),
      'Unstuck-Task': task.id,
      'Unstuck-Run': run.id,
      'Unstuck-Epoch': String(run.epoch),
    },
  })
  if (publishesRunRefs(context, runContext.goal))
    await context.ports.git.handOver(context.repository, context.shadow, { runId: run.id, from: base, commit: made })
  context.at('commit-made')
  if (runContext.goal.repoMode === 'remote') return publishRun(runContext, made)
  await saveProgress(runContext, { phase: 'finish', commit: made })
  return 'on'
}
