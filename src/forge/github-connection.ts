/** Requests to GitHub. Short rate limits and failures of a moment are waited out here; longer ones are the caller's next try. */
import { Octokit } from '@octokit/core'
import { paginateRest } from '@octokit/plugin-paginate-rest'
import { retry } from '@octokit/plugin-retry'
import { throttling } from '@octokit/plugin-throttling'
import { AppError, messageOf } from '../errors.ts'
import type { RememberedAnswers } from './remembered-answers.ts'

const GitHub = Octokit.plugin(paginateRest, retry, throttling)

/** After a longer limit the next poll asks again. */
const longestWaitSeconds = 20
const attempts = 2
/** For all attempts and pages of one call. */
const timeoutMs = 60_000

export const members: readonly string[] = ['OWNER', 'MEMBER', 'COLLABORATOR']

export interface GitHubOptions {
  /** `https://api.github.com`, or that of an Enterprise server. */
  apiUrl: string
  repository: string
  token: string
  /** They outlive the connection, which is made anew for each poll. */
  answers: RememberedAnswers
}

export const httpStatusOf = (error: unknown): number | undefined => {
  const status = (error as { status?: unknown } | null)?.status
  return typeof status === 'number' ? status : undefined
}

/** GitHub answers with 403 or 429 also at a rate limit, which ends by itself. */
const isPassing = (error: unknown, status: number | undefined): boolean =>
  status === undefined || status >= 500 || status === 429 || (status === 403 && /rate limit/i.test(messageOf(error)))

const forgeError = (error: unknown, { repository, apiUrl }: GitHubOptions, what: string): AppError => {
  const status = httpStatusOf(error)
  const said = messageOf(error).split('\n')[0] ?? ''
  if (isPassing(error, status))
    return new AppError('REMOTE_UNAVAILABLE', `GitHub did not answer (${what} of ${repository}): ${said}`, {
      cause: error,
    })
  const advice =
    status === 401
      ? 'the token is not valid: set GH_TOKEN, or run "gh auth login"'
      : `check forge.repository and forge.apiUrl (${apiUrl}), and that the token may read and write issues and pull requests there`
  return new AppError('REMOTE_REFUSED', `GitHub refused ${what} of ${repository} (${said}); ${advice}`, {
    cause: error,
  })
}

const askIfChanged = (octokit: Octokit, answers: RememberedAnswers): void => {
  octokit.hook.wrap('request', async (request, options) => {
    if (options.method !== 'GET') return request(options)
    const { url } = octokit.request.endpoint(options)
    const known = answers.get(url)
    // Changed in place: each hook gets this same object, whatever is handed on.
    if (known !== undefined) options.headers['if-none-match'] = known.etag
    try {
      const response = await request(options)
      answers.add(url, response)
      return response
    } catch (error) {
      if (known === undefined || httpStatusOf(error) !== 304) throw error
      return { url, status: known.status, headers: { ...known.headers }, data: JSON.parse(known.text) as unknown }
    } finally {
      delete options.headers['if-none-match']
    }
  })
}

export const connectionTo = (options: GitHubOptions) => {
  const { repository, apiUrl, token } = options
  const [owner = '', repo = ''] = repository.split('/')
  const mayWait = (seconds: number, _options: object, _octokit: object, tried: number): boolean =>
    seconds <= longestWaitSeconds && tried < attempts
  const octokit = new GitHub({
    ...{ baseUrl: apiUrl, auth: token, userAgent: 'unstuck' },
    throttle: { onRateLimit: mayWait, onSecondaryRateLimit: mayWait },
    // Limits are the other plugin's; what the request itself is refused for stays so.
    retry: { retries: attempts, doNotRetry: [400, 401, 403, 404, 410, 422, 429, 451] },
    log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
  })
  askIfChanged(octokit, options.answers)
  const ask = async <T>(what: string, work: (request: { signal: AbortSignal }) => Promise<T>): Promise<T> => {
    try {
      return await work({ signal: AbortSignal.timeout(timeoutMs) })
    } catch (error) {
      if (error instanceof AppError) throw error
      if (httpStatusOf(error) === 404 && /#\d+$/.test(what))
        throw new AppError('NOT_FOUND', `${repository} has no ${what}`, { cause: error })
      throw forgeError(error, options, what)
    }
  }
  return { octokit, ask, place: { owner, repo }, repository }
}

export type GitHubConnection = ReturnType<typeof connectionTo>
