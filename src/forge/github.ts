/** Issues and pull requests of GitHub by its REST API, also of GitHub Enterprise. */
import { AppError } from '../errors.ts'
import type { Forge, ForgeIssue, NewPullRequest, PullRequest } from './forge.ts'
import { connectionTo, members, type GitHubConnection, type GitHubOptions } from './github-connection.ts'
import { feedbackOver } from './github-feedback.ts'

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
  id: String(row.number),
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
  /** Only of one pull request, and null until it was computed. */
  mergeable?: boolean | null
  head: { ref: string; repo?: { full_name: string } | null }
  base: { repo: { full_name: string } }
}

const pullRequestOf = (row: PullRow): PullRequest => {
  const state = row.merged_at === null ? (row.state === 'open' ? 'open' : 'closed') : 'merged'
  return {
    ...{ number: row.number, title: row.title, body: row.body ?? '', url: row.html_url, branch: row.head.ref, state },
    isFromFork: row.head.repo?.full_name !== row.base.repo.full_name,
    mergeCommit: state === 'merged' ? row.merge_commit_sha : null,
    hasConflicts: state === 'open' && row.mergeable === false,
  }
}

const issuesOver = ({ octokit, ask, place, repository }: GitHubConnection): Pick<Forge, 'openIssues' | 'issue'> => ({
  openIssues: (label) =>
    ask('the open issues', async (request) => {
      const query = { ...place, state: 'open', sort: 'created', direction: 'asc', per_page: 100, request } as const
      const rows = await octokit.paginate('GET /repos/{owner}/{repo}/issues', {
        ...query,
        ...(label === '' ? {} : { labels: label }),
      })
      // A pull request is an issue as well there.
      return { issues: rows.filter((row) => row.pull_request === undefined).map(issueOf), problems: [] }
    }),
  issue: (id) =>
    ask(`issue #${id}`, async (request) => {
      const { data } = await octokit.request('GET /repos/{owner}/{repo}/issues/{issue_number}', {
        ...place,
        ...{ issue_number: Number(id), request },
      })
      if (data.pull_request !== undefined)
        throw new AppError('INPUT_INVALID', `#${id} of ${repository} is a pull request; name an issue`)
      return { ...issueOf(data), isOpen: data.state === 'open' }
    }),
})

type PullRequests = Pick<Forge, 'openPullRequests' | 'pullRequest' | 'openPullRequest' | 'closePullRequest'>

const pullRequestsOver = ({ octokit, ask, place }: GitHubConnection): PullRequests => ({
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
  closePullRequest: (number) =>
    ask(`pull request #${number}`, async (request) => {
      const path = 'PATCH /repos/{owner}/{repo}/pulls/{pull_number}'
      await octokit.request(path, { ...place, pull_number: number, state: 'closed', request })
    }),
})

export const createGitHub = (options: GitHubOptions): Forge => {
  const connection = connectionTo(options)
  return {
    name: options.repository,
    ...issuesOver(connection),
    ...pullRequestsOver(connection),
    ...feedbackOver(connection),
  }
}
