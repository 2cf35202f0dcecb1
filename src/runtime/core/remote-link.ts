/**
 * The connection to a git remote. An outage is recorded when it starts and when it ends, and each failure in a row doubles the wait
 * before the next try. It never gives up: waiting for a remote costs nothing, and no person has to act.
 */
import { backoff } from '../../domain/backoff.ts'
import { AppError, messageOf } from '../../errors.ts'
import { appendEvent } from '../../store/event.ts'
import type { Remote } from '../../workspace/remote.ts'
import type { Context, RemoteLink } from './context.ts'

/** Refused pushes after which a person is asked. */
export const refusalLimit = 3

const rest = { firstMs: 1_000, maxMs: 60_000 }

/** The remote does not respond. */
export const isOutage = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'REMOTE_UNAVAILABLE'

/** The remote responds and refuses the request. */
export const isRefusal = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'REMOTE_REFUSED'

type Parts = Pick<Context, 'db' | 'clock' | 'log'>

/** Counts failures in a row, and records the start and the end of an outage. */
const countFailures = (url: string, { db, clock, log }: Parts) => {
  let failures = 0
  let due = 0
  let recorded = false
  // The store may be unreachable as well; the work that needs it reports that.
  const notRecorded = (error: unknown): void =>
    log.warn({ error: messageOf(error) }, "the remote's outage could not be recorded")
  const failed = async (trouble: AppError): Promise<void> => {
    failures += 1
    due = clock.elapsed() + backoff(failures - 1, rest)
    log.warn({ error: trouble.message, failures }, 'the git remote does not respond or refuses')
    if (recorded || !isOutage(trouble)) return
    recorded = true
    const payload = { remote: url, detail: trouble.message }
    await appendEvent(db, { type: 'remote.unreachable', payload }).catch(notRecorded)
  }
  const answered = async (): Promise<void> => {
    failures = 0
    due = 0
    if (!recorded) return
    recorded = false
    await appendEvent(db, { type: 'remote.reachable', payload: { remote: url } }).catch(notRecorded)
  }
  const restMs = (): number => Math.max(0, due - clock.elapsed())
  return { failed, answered, failing: () => failures > 0, restMs }
}

export const createRemoteLink = (remote: Remote, parts: Parts): RemoteLink => {
  const { failed, answered, failing, restMs } = countFailures(remote.url, parts)
  const watched =
    <A extends unknown[], T>(work: (...given: A) => Promise<T>) =>
    async (...given: A): Promise<T> => {
      try {
        const value = await work(...given)
        await answered()
        return value
      } catch (error) {
        if (isOutage(error) || isRefusal(error)) await failed(error)
        throw error
      }
    }
  return {
    url: remote.url,
    head: watched(remote.head),
    fetchRefs: watched(remote.fetchRefs),
    list: watched(remote.list),
    push: watched(remote.push),
    failing,
    waitMs: restMs,
  }
}

/** The link of an engine that was started with a URL. */
export const remoteLinkOf = (context: Pick<Context, 'remote'>): RemoteLink => {
  if (context.remote !== undefined) return context.remote
  throw new AppError(
    'REPOSITORY_STATE',
    'this goal belongs to a repository given by URL, but this engine works in a folder; run "unstuck stop", then start it with --repo <url>',
  )
}

const runPrefix = 'refs/unstuck/runs'

/** The ref that holds a run's commit on the remote until it is merged. */
export const runRef = (runId: string): string => `${runPrefix}/${runId}`

/** By run id: the commits of runs that are on the remote. */
export const listRunRefs = async (link: RemoteLink): Promise<Map<string, string>> =>
  new Map(Object.entries(await link.list(runPrefix)).map(([ref, commit]) => [ref.slice(runPrefix.length + 1), commit]))

/** Returns whether the ref is gone. A leftover ref does no harm; `unstuck clean` removes it later. */
export const dropRunRef = async (context: Context, runId: string, commit: string): Promise<boolean> => {
  try {
    const pushed = await remoteLinkOf(context).push([{ ref: runRef(runId), to: null, expected: commit }])
    return pushed.kind === 'done'
  } catch (error) {
    context.log.warn({ run: runId, error: messageOf(error) }, "the run's ref stays on the remote for now")
    return false
  }
}
