/** Phase `commit`: one commit of the permitted paths. Equal input gives an equal commit, so it can be made again after a crash. */
import type { CommitIntent } from '../../../domain/run.ts'
import { weakeningText } from '../../../recovery/weakened.ts'
import { collectedWork } from '../../agent/collected.ts'
import { save, type Session } from '../../core/session.ts'
import { isHandedOver } from '../../landing/hand-overs.ts'
import { checkFence } from '../fence.ts'
import type { Phase } from '../phase.ts'
import { publishRun } from '../remote-run.ts'

const bodyOf = (session: Session): string => {
  const { verdict } = session.run
  const checks = (verdict?.checks ?? []).map(({ command, excused }) =>
    excused === undefined
      ? `- ${command}: passed`
      : `- ${command}: ${excused.because} (${excused.failing.join('; ').slice(0, 500)})`,
  )
  const dropped = (verdict?.dropped ?? []).map(
    ({ command, reason, by }) =>
      `- ${command}: ${by === undefined ? 'not part of the verdict' : `replaced by ${by}`} (${reason})`,
  )
  const weakened = (verdict?.weakened ?? []).map((entry) => `- ${weakeningText(entry)}`)
  return [
    session.task.instructions.slice(0, 2_000),
    checks.length + dropped.length === 0 ? '' : `Verified by:\n${[...checks, ...dropped].join('\n')}`,
    weakened.length === 0 ? '' : `Tests weakened:\n${weakened.join('\n')}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

/** As git writes a time, with the zone of this machine. */
const stampOf = (now: Date): string => {
  const minutes = -now.getTimezoneOffset()
  const two = (value: number): string => String(Math.trunc(Math.abs(value))).padStart(2, '0')
  return `@${Math.floor(now.getTime() / 1000)} ${minutes < 0 ? '-' : '+'}${two(minutes / 60)}${two(minutes % 60)}`
}

/** Author and time, decided once: a replay on another machine or at another time makes the same commit. */
const intentOf = async (session: Session): Promise<CommitIntent> => {
  const { context, run } = session
  if (run.commitIntent !== null) return run.commitIntent
  const author = (await context.ports.git.authorOf(context.repository)) ?? null
  const intent = { author, at: stampOf(context.clock.now()) }
  await save(session, { commitIntent: intent })
  context.at('commit-intended')
  return intent
}

export const commit: Phase = async (session) => {
  const { context, run, task } = session
  const base = run.baseCommit ?? ''
  const found = await collectedWork(session)
  const { permitted } = await checkFence(session, found)
  // Everything that was collected may be committed as it is, unless something in it is not permitted.
  const tree =
    permitted.length === found.changes.length
      ? found.tree
      : await context.ports.git.buildTree(context.shadow, { base, tree: found.tree, paths: permitted })
  const { author, at } = await intentOf(session)
  const made = await context.ports.git.buildCommit(context.shadow, {
    ...(author === null ? { at } : { author, at }),
    base,
    tree,
    subject: task.title,
    body: bodyOf(session),
    trailers: { 'Unstuck-Task': task.id, 'Unstuck-Run': run.id, 'Unstuck-Epoch': String(run.epoch) },
  })
  if (isHandedOver(context, session.goal))
    await context.ports.git.handOver(context.repository, context.shadow, { runId: run.id, from: base, commit: made })
  context.at('commit-made')
  if (session.goal.repoMode === 'remote') return publishRun(session, made)
  await save(session, { phase: 'finish', commit: made })
  return 'on'
}
