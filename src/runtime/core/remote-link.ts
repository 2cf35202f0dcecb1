/**
 * The runtime's end of a repository by URL. An outage is told once, at its begin and at its end, and every failure makes the
 * next try later; nothing here gives up, because waiting for a remote costs nobody anything and asks nobody.
 */
import { backoff } from '../../domain/backoff.ts'
import { AppError, messageOf } from '../../errors.ts'
import { appendEvent } from '../../store/event.ts'
import type { Remote } from '../../workspace/remote.ts'
import type { Context, RemoteLink } from './context.ts'

/** A remote that says no is asked this often before a person is. */
export const refusalLimit = 3

const rest = { firstMs: 1_000, maxMs: 60_000 }

/** The remote does not answer, now. */
export const isOutage = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'REMOTE_UNAVAILABLE'

/** The remote answers, and what it says is no. */
export const isRefusal = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'REMOTE_REFUSED'

type Parts = Pick<Context, 'db' | 'clock' | 'log'>

/** Counts failures in a row: each makes the next try later. Tells an outage at its begin and at its end. */
const countFailures = (url: string, { db, clock, log }: Parts) => {
  let failures = 0
  let due = 0
  let told = false
  // The store may be away as well; the work itself says so.
  const untold = (error: unknown): void =>
    log.warn({ error: messageOf(error) }, "the remote's outage could not be recorded")
  const failed = async (trouble: AppError): Promise<void> => {
    failures += 1
    due = clock.elapsed() + backoff(failures - 1, rest)
    log.warn({ error: trouble.message, failures }, 'the remote does not answer or refuses')
    if (told || !isOutage(trouble)) return
    told = true
    const payload = { remote: url, detail: trouble.message }
    await appendEvent(db, { type: 'remote.unreachable', payload }).catch(untold)
  }
  const answered = async (): Promise<void> => {
    failures = 0
    due = 0
    if (!told) return
    told = false
    await appendEvent(db, { type: 'remote.reachable', payload: { remote: url } }).catch(untold)
  }
  const restMs = (): number => Math.max(0, due - clock.elapsed())
  return { failed, answered, failing: () => failures > 0, restMs }
}

export const createLink = (remote: Remote, parts: Parts): RemoteLink => {
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
    see: watched(remote.see),
    list: watched(remote.list),
    push: watched(remote.push),
    failing,
    restMs,
  }
}

/** The link of an engine that was started with a URL. */
export const linkOf = (context: Pick<Context, 'remote'>): RemoteLink => {
  if (context.remote !== undefined) return context.remote
  throw new AppError(
    'REPOSITORY_STATE',
    'this goal is one of a repository by URL, and the engine works in a folder; stop it, and start it with --repo <url>',
  )
}

const runPrefix = 'refs/unstuck/runs'

/** Where a run's commit stands on the remote until it is merged. */
export const runRef = (runId: string): string => `${runPrefix}/${runId}`

/** Runs whose commits stand on the remote, with these commits. */
export const listRunRefs = async (link: RemoteLink): Promise<Map<string, string>> =>
  new Map(Object.entries(await link.list(runPrefix)).map(([ref, commit]) => [ref.slice(runPrefix.length + 1), commit]))

/** A left-over ref costs nothing: when the remote does not want to let it go now, `unstuck clean` asks again. */
export const dropRunRef = async (context: Context, runId: string, commit: string): Promise<boolean> => {
  try {
    const pushed = await linkOf(context).push([{ ref: runRef(runId), to: null, expected: commit }])
    return pushed.kind === 'done'
  } catch (error) {
    context.log.warn({ run: runId, error: messageOf(error) }, "the run's ref stays on the remote for now")
    return false
  }
}
