/** What GitHub says about a pull request: its checks with their logs, its reviews with their comments. */
import type { Forge, ForgeCheck, ForgeReview } from './forge.ts'
import { members, httpStatusOf, type GitHubConnection } from './github-connection.ts'

/** The end of a log, where the failure is. In characters. */
const longestLog = 200_000

/** Each line begins with its time there. */
const withoutTimes = (log: string): string => log.replaceAll(/^\uFEFF?\d{4}-\d\d-\d\dT[\d:.]+Z ?/gm, '')

const failed: readonly string[] = ['failure', 'timed_out', 'startup_failure']

interface CheckRow {
  id: number | bigint
  name: string
  status: string
  conclusion: string | null
  html_url: string | null
  output: { title: string | null; summary: string | null; text: string | null }
  app: { slug?: string } | null
}

const checkOf = (row: CheckRow): ForgeCheck => ({
  name: row.name,
  // Skipped, neutral and cancelled ones say nothing about the work.
  state: row.status !== 'completed' ? 'pending' : failed.includes(row.conclusion ?? '') ? 'failed' : 'passed',
  text: [row.output.title, row.output.summary, row.output.text]
    .filter((part) => part != null && part !== '')
    .join('\n'),
  url: row.html_url ?? '',
  // For a check of GitHub Actions, its number is that of the job.
  job: row.app?.slug === 'github-actions' ? Number(row.id) : null,
})

const statusStates: Record<string, ForgeCheck['state']> = { success: 'passed', pending: 'pending' }

const checksOver = ({
  octokit,
  ask,
  place,
}: GitHubConnection): Pick<Forge, 'checks' | 'checkLog' | 'runCheckAgain'> => ({
  checks: (commit) =>
    ask('the checks', async (request) => {
      const at = { ...place, ref: commit, request }
      const runs = await octokit.paginate('GET /repos/{owner}/{repo}/commits/{ref}/check-runs', {
        ...at,
        per_page: 100,
      })
      const { data } = await octokit.request('GET /repos/{owner}/{repo}/commits/{ref}/status', { ...at, per_page: 100 })
      return [
        ...runs.map(checkOf),
        ...data.statuses.map(({ context, state, description, target_url: url }) => ({
          ...{ name: context, state: statusStates[state] ?? ('failed' as const), text: description ?? '' },
          ...{ url: url ?? '', job: null },
        })),
      ]
    }),
  checkLog: (job) =>
    ask('the log of a check', async (request) => {
      const path = 'GET /repos/{owner}/{repo}/actions/jobs/{job_id}/logs'
      const { data } = await octokit.request(path, { ...place, job_id: job, request })
      return typeof data === 'string' ? withoutTimes(data.slice(-longestLog)) : ''
    }),
  runCheckAgain: (job) =>
    ask('a check', async (request) => {
      await octokit.request('POST /repos/{owner}/{repo}/actions/jobs/{job_id}/rerun', {
        ...place,
        job_id: job,
        request,
      })
    }),
})

/** Others only comment, or are dismissed. */
const decisive: readonly string[] = ['APPROVED', 'CHANGES_REQUESTED', 'DISMISSED']

const reviewsOver = ({ octokit, ask, place }: GitHubConnection): Pick<Forge, 'reviews' | 'reply'> => ({
  reviews: (number) =>
    ask(`pull request #${number}`, async (request) => {
      const at = { ...place, pull_number: number, per_page: 100, request }
      const rows = await octokit.paginate('GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews', at)
      const comments = await octokit.paginate('GET /repos/{owner}/{repo}/pulls/{pull_number}/comments', at)
      const last = new Map(
        rows.filter(({ state }) => decisive.includes(state)).map(({ id, user }) => [user?.login ?? '', id]),
      )
      return rows.map((row): ForgeReview => {
        const author = row.user?.login ?? ''
        return {
          ...{ id: Number(row.id), author, body: row.body, isByMember: members.includes(row.author_association) },
          wantsChanges: row.state === 'CHANGES_REQUESTED' && last.get(author) === row.id,
          comments: comments
            .filter((comment) => comment.pull_request_review_id === row.id && comment.in_reply_to_id === undefined)
            .map(({ id, path, line, body }) => ({ id: Number(id), path, line: line ?? null, body })),
        }
      })
    }),
  reply: (number, comment, text) =>
    ask(`pull request #${number}`, async (request) => {
      if (comment === null) {
        const path = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments'
        await octokit.request(path, { ...place, issue_number: number, body: text, request })
        return
      }
      const path = 'POST /repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies'
      await octokit.request(path, { ...place, pull_number: number, comment_id: comment, body: text, request })
    }),
})

const commentsOver = ({ octokit, ask, place }: GitHubConnection): Pick<Forge, 'findComment' | 'writeComment'> => ({
  findComment: (issue, text) =>
    ask(`issue #${issue}`, async (request) => {
      const at = { ...place, issue_number: Number(issue), per_page: 100, request }
      const rows = await octokit.paginate('GET /repos/{owner}/{repo}/issues/{issue_number}/comments', at)
      const found = rows.find(
        ({ body, author_association: association }) =>
          members.includes(association ?? '') && body?.includes(text) === true,
      )
      return found === undefined ? null : Number(found.id)
    }),
  writeComment: (issue, comment, { text }) =>
    ask(`issue #${issue}`, async (request) => {
      if (comment === null) {
        const path = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments'
        const { data } = await octokit.request(path, { ...place, issue_number: Number(issue), body: text, request })
        return Number(data.id)
      }
      try {
        const path = 'PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}'
        await octokit.request(path, { ...place, comment_id: comment, body: text, request })
        return comment
      } catch (error) {
        if (httpStatusOf(error) === 404) return null
        throw error
      }
    }),
})

export const feedbackOver = (connection: GitHubConnection) => ({
  ...checksOver(connection),
  ...reviewsOver(connection),
  ...commentsOver(connection),
})
