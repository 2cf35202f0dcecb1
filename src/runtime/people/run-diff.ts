/**
 * The changes of a run, for a person: its commit, else its workspace now, else the collected tree, else the newest snapshot. Redacted and
 * bounded, because an agent decides what they contain.
 */
import type { Choice } from '../../domain/escalation.ts'
import type { Goal } from '../../domain/goal.ts'
import type { Run } from '../../domain/run.ts'
import { installedPatterns } from '../../recovery/install.ts'
import { pendingEscalationOf } from '../../store/escalation.ts'
import type { Patch } from '../../workspace/patch.ts'
import { readPrepared } from '../agent/prepared.ts'
import { copiedPatterns } from '../checks/fresh-workspace.ts'
import { runPaths, type Context } from '../core/context.ts'
import { workTreeOf } from '../core/run-context.ts'

type DiffSource = 'commit' | 'workspace' | 'collected' | 'snapshot' | 'none'

export interface RunDiff extends Omit<Patch, 'text'> {
  run: string
  /** Where the changes were read; `none` = there are none. */
  source: DiffSource
  /** Of the source `commit`. */
  commit: string | null
  diff: string
  /** `diff` is not complete. */
  cut: boolean
  /** How many files changed; `files` and `wasLeftOut` name at most 1,000 each. */
  fileCount: number
  /** While a person is asked about exactly this change: the commands that decide about it. */
  decisions: Pick<Choice, 'label' | 'command'>[]
}

const mostChars = 1024 * 1024
const mostNamed = 1_000
const limits = { mostBytesEach: 1024 * 1024, mostBytes: 8 * 1024 * 1024, mostFiles: 500 }

interface Found {
  source: DiffSource
  to: string
}

/** The agent's folder now. In direct mode it holds the work of this run only while the run lasts. */
const inWorkspace = async (context: Context, run: Run, goal: Goal): Promise<Found | undefined> => {
  const paths = runPaths(context, run.id)
  const workTree = workTreeOf({ context, goal, paths })
  const isOwn = goal.repoMode !== 'direct'
  if (run.baseCommit === null || !(isOwn || run.state === 'running')) return undefined
  if (!context.ports.files.existsSync(workTree)) return undefined
  const { copied } = readPrepared({ context, paths })
  const exclude = [...installedPatterns(run.verdict?.installed ?? []), ...copiedPatterns(copied)]
  const { tree } = await context.ports.git.captureAside(context.shadow, { base: run.baseCommit, workTree, exclude })
  return { source: 'workspace', to: tree }
}

const changeOf = async (context: Context, run: Run, goal: Goal): Promise<Found | undefined> => {
  if (run.commit !== null) return { source: 'commit', to: run.commit }
  const now = await inWorkspace(context, run, goal)
  if (now !== undefined) return now
  if (run.tree !== null) return { source: 'collected', to: run.tree }
  const kept = (await context.ports.git.listSnapshots(context.shadow, run.id)).at(-1)
  return kept === undefined ? undefined : { source: 'snapshot', to: kept.commit }
}

/** The text within the limit, cut after a whole line. */
const bounded = (text: string): { diff: string; cut: boolean } =>
  text.length <= mostChars
    ? { diff: text, cut: false }
    : { diff: text.slice(0, text.lastIndexOf('\n', mostChars) + 1), cut: true }

const decisionsOn = async ({ db }: Context, run: Run): Promise<RunDiff['decisions']> => {
  const question = await pendingEscalationOf(db, run.taskId)
  if (question?.runId !== run.id) return []
  const about = question.choices.filter(({ kind }) => kind === 'approve' || kind === 'reject')
  return about.map(({ label, command }) => ({ label, command }))
}

export const readRunDiff = async (context: Context, run: Run, goal: Goal): Promise<RunDiff> => {
  const none: RunDiff = {
    ...{ run: run.id, source: 'none', commit: null, files: [], fileCount: 0, diff: '', leftOut: [], cut: false },
    decisions: await decisionsOn(context, run),
  }
  const found = run.baseCommit === null ? undefined : await changeOf(context, run, goal)
  if (found === undefined || run.baseCommit === null) return none
  const { git, processes } = context.ports
  const patch = await git.readPatch(context.shadow, { from: run.baseCommit, to: found.to }, limits)
  const clean = (text: string): string => processes.redactText(text, context.environment)
  return {
    ...none,
    source: found.source,
    commit: found.source === 'commit' ? found.to : null,
    files: patch.files.slice(0, mostNamed).map(({ path, kind }) => ({ path: clean(path), kind })),
    fileCount: patch.files.length,
    leftOut: patch.leftOut.slice(0, mostNamed).map(clean),
    // Redacted before it is cut: half a secret would not be recognised.
    ...bounded(clean(patch.text)),
  }
}
