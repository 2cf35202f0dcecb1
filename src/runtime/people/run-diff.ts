/**
 * The change of a run, for a person: its commit, else what its workspace holds now, else what was collected or kept of it.
 * Redacted and bounded, because an agent decides what is in it.
 */
import type { Goal } from '../../domain/goal.ts'
import type { Run } from '../../domain/run.ts'
import { madeBy } from '../../recovery/install.ts'
import type { Patch } from '../../workspace/patch.ts'
import { readPrepared } from '../agent/prepared.ts'
import { copiedPatterns } from '../checks/fresh-workspace.ts'
import { runPaths, type Context } from '../core/context.ts'
import { workTreeOf } from '../core/session.ts'

type DiffSource = 'commit' | 'workspace' | 'collected' | 'snapshot' | 'none'

interface RunDiff extends Omit<Patch, 'text'> {
  run: string
  /** Where the change was read: `none` = the run has changed nothing that could be read. */
  source: DiffSource
  diff: string
  /** The text was longer than is given here. */
  cut: boolean
  /** How many files changed; `files` and `leftOut` name at most 1,000 each. */
  fileCount: number
}

const mostChars = 1024 * 1024
const mostNamed = 1_000
const limits = { mostBytesEach: 1024 * 1024, mostBytes: 8 * 1024 * 1024, mostFiles: 500 }

interface Found {
  source: DiffSource
  to: string
}

/** What the agent's folder holds now. In the user's own folder that is the run's work only while the run lasts. */
const inWorkspace = async (context: Context, run: Run, goal: Goal): Promise<Found | undefined> => {
  const paths = runPaths(context, run.id)
  const workTree = workTreeOf({ context, goal, paths })
  const isOwn = goal.repoMode !== 'direct'
  if (run.baseCommit === null || !(isOwn || run.state === 'running')) return undefined
  if (!context.ports.files.existsSync(workTree)) return undefined
  const { copied } = readPrepared({ context, paths })
  const exclude = [...madeBy(run.verdict?.installed ?? []), ...copiedPatterns(copied)]
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

/** Cut at the end of a line. */
const bounded = (text: string): { diff: string; cut: boolean } =>
  text.length <= mostChars
    ? { diff: text, cut: false }
    : { diff: text.slice(0, text.lastIndexOf('\n', mostChars) + 1), cut: true }

export const readRunDiff = async (context: Context, run: Run, goal: Goal): Promise<RunDiff> => {
  const none: RunDiff = { run: run.id, source: 'none', files: [], fileCount: 0, diff: '', leftOut: [], cut: false }
  const found = run.baseCommit === null ? undefined : await changeOf(context, run, goal)
  if (found === undefined || run.baseCommit === null) return none
  const { git, processes } = context.ports
  const patch = await git.readPatch(context.shadow, { from: run.baseCommit, to: found.to }, limits)
  const clean = (text: string): string => processes.redactText(text, context.environment)
  return {
    run: run.id,
    source: found.source,
    files: patch.files.slice(0, mostNamed).map(({ path, kind }) => ({ path: clean(path), kind })),
    fileCount: patch.files.length,
    leftOut: patch.leftOut.slice(0, mostNamed).map(clean),
    // Before it is cut: half a secret would not be recognised.
    ...bounded(clean(patch.text)),
  }
}
