/** GitHub by its REST API, also GitHub Enterprise. Short rate limits and failures of a moment are waited out here; longer ones are the caller's next try. */
import { Octokit } from '@octokit/core'
import { paginateRest } from '@octokit/plugin-paginate-rest'
import { retry } from '@octokit/plugin-retry'
import { throttling } from '@octokit/plugin-throttling'
import { AppError, messageOf } from '../errors.ts'
import type { Forge, ForgeIssue, NewPullRequest, PullRequest } from './forge.ts'

const GitHub = Octokit.plugin(paginateRest, retry, throttling)

/** After a longer limit the next poll asks again. */
const longestWaitSeconds = 20
const attempts = 2
/** For all attempts and pages of one call. */
const timeoutMs = 60_000

const members: readonly string[] = ['OWNER', 'MEMBER', 'COLLABORATOR']

interface IssueRow {
  number: number
  title: string
  body?: string | null | undefined
  html_url: string
  state: string
  labels: (string | { name?: string | null })[]
  user: { login: string } | null
  author_association?: string | undefined
  pull_request?: unknown
}

const issueOf = (row: IssueRow): ForgeIssue => ({
  number: row.number,
  title: row.title,
  body: row.body ?? '',
  url: row.html_url,
  labels: row.labels.flatMap((label) => (typeof label === 'string' ? [label] : [label.name ?? ''])),
  author: row.user?.login ?? '',
  isByMember: members.includes(row.author_association ?? ''),
})

interface PullRow {
  number: number
  title: string
  body: string | null
  html_url: string
  state: string
  merged_at: string | null
  merge_commit_sha: string | null
  head: { ref: string; repo?: { full_name: string } | null }
  base: { repo: { full_name: string } }
}

const pullRequestOf = (row: PullRow): PullRequest => {
  const state = row.merged_at === null ? (row.state === 'open' ? 'open' : 'closed') : 'merged'
  return {
    ...{ number: row.number, title: row.title, body: row.body ?? '', url: row.html_url, branch: row.head.ref, state },
    isFromFork: row.head.repo?.full_name !== row.base.repo.full_name,
    mergeCommit: state === 'merged' ? row.merge_commit_sha : null,
  }
}

interface GitHubOptions {
  /** `https://api.github.com`, or that of an Enterprise server. */
  apiUrl: string
  repository: string
  token: string
}

const statusOf = (error: unknown): number | undefined => {
  const status = (error as { status?: unknown } | null)?.status
  return typeof status === 'number' ? status : undefined
}

/** GitHub answers with 403 or 429 also at a rate limit, which ends by itself. */
const isPassing = (error: unknown, status: number | undefined): boolean =>
  status === undefined || status >= 500 || status === 429 || (status === 403 && /rate limit/i.test(messageOf(error)))

const forgeError = (error: unknown, { repository, apiUrl }: GitHubOptions, what: string): AppError => {
  const status = statusOf(error)
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

const connectionTo = (options: GitHubOptions) => {
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
  const ask = async <T>(what: string, work: (request: { signal: AbortSignal }) => Promise<T>): Promise<T> => {
    try {
      return await work({ signal: AbortSignal.timeout(timeoutMs) })
    } catch (error) {
      if (error instanceof AppError) throw error
      if (statusOf(error) === 404 && /#\d+$/.test(what))
        throw new AppError('NOT_FOUND', `${repository} has no ${what}`, { cause: error })
      throw forgeError(error, options, what)
    }
  }
  return { octokit, ask, place: { owner, repo }, repository }
}

type Connection = ReturnType<typeof connectionTo>

const issuesOver = ({ octokit, ask, place, repository }: Connection): Pick<Forge, 'openIssues' | 'issue'> => ({
  openIssues: (label) =>
    ask('the open issues', async (request) => {
      const query = { ...place, state: 'open', sort: 'created', direction: 'asc', per_page: 100, request } as const
      const rows = await octokit.paginate('GET /repos/{owner}/{repo}/issues', {
        ...query,
        ...(label === '' ? {} : { labels: label }),
      })
      // A pull request is an issue as well there.
      return rows.filter((row) => row.pull_request === undefined).map(issueOf)
    }),
  issue: (number) =>
    ask(`issue #${number}`, async (request) => {
      const { data } = await octokit.request('GET /repos/{owner}/{repo}/issues/{issue_number}', {
        ...place,
        ...{ issue_number: number, request },
      })
      if (data.pull_request !== undefined)
        throw new AppError('INPUT_INVALID', `#${number} of ${repository} is a pull request; name an issue`)
      return { ...issueOf(data), isOpen: data.state === 'open' }
    }),
})

type PullRequests = Pick<Forge, 'openPullRequests' | 'pullRequest' | 'openPullRequest'>

const pullRequestsOver = ({ octokit, ask, place }: Connection): PullRequests => ({
  openPullRequests: () =>
    ask('the open pull requests', async (request) => {
      const query = { ...place, state: 'open', per_page: 100, request } as const
      return (await octokit.paginate('GET /repos/{owner}/{repo}/pulls', query)).map(pullRequestOf)
    }),
  pullRequest: (number) =>
    ask(`pull request #${number}`, async (request) => {
      const { data } = await octokit.request('GET /repos/{owner}/{repo}/pulls/{pull_number}', {
        ...place,
        ...{ pull_number: number, request },
      })
      return pullRequestOf(data)
    }),
  openPullRequest: ({ title, body, branch, base }: NewPullRequest) =>
    ask('a new pull request', async (request) => {
      const { data } = await octokit.request('POST /repos/{owner}/{repo}/pulls', {
        ...place,
        ...{ title, body, head: branch, base, request },
      })
      return pullRequestOf(data)
    }),
})

export const createGitHub = (options: GitHubOptions): Forge => {
  const connection = connectionTo(options)
  return { repository: options.repository, ...issuesOver(connection), ...pullRequestsOver(connection) }
}
