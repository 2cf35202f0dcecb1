/** A stand-in for the part of GitHub's API that Unstuck uses, on loopback. What it holds is changed by the test, as people would. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

export interface HeldIssue {
  number: number
  title: string
  body?: string | null
  labels?: string[]
  author?: string
  /** As GitHub writes it. */
  association?: string
  state?: 'open' | 'closed'
}

export interface HeldPull {
  number: number
  title: string
  body: string
  branch: string
  base: string
  state: 'open' | 'closed'
  mergedAt: string | null
  mergeCommit: string | null
  /** With the branch. Absent = the one that is asked. */
  repository?: string
  /** What the forge has found out; null = it has not yet. Absent = it merges. Said only of a pull request that is asked for by its number. */
  mergeable?: () => boolean | null
}

/** Of GitHub Actions where it has a log. */
export interface HeldCheck {
  id: number
  /** A commit, or the name of a branch. */
  ref: string
  name: string
  /** Null = it runs. */
  conclusion: string | null
  log?: string
  summary?: string
}

export interface HeldReview {
  id: number
  pull: number
  state: 'APPROVED' | 'CHANGES_REQUESTED' | 'COMMENTED' | 'DISMISSED'
  body: string
  author?: string
  association?: string
  comments?: { id: number; path: string; line: number; body: string }[]
}

/** Answered instead of the next requests, one each. */
export interface Refusal {
  status: number
  headers?: Record<string, string>
  message?: string
}

const repository = 'acme/shop'
const token = 'the-token-of-the-owner'

const bodyOf = async (request: IncomingMessage): Promise<Record<string, string>> => {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text === '' ? {} : (JSON.parse(text) as Record<string, string>)
}

export const openGitHub = async () => {
  const issues: HeldIssue[] = []
  const pulls: HeldPull[] = []
  const checks: HeldCheck[] = []
  const statuses: { ref: string; context: string; state: string }[] = []
  const reviews: HeldReview[] = []
  /** Written by whom is asked; `null` = under the pull request itself. */
  const replies: { comment: number | null; body: string }[] = []
  /** Under issues. */
  const comments: { id: number; issue: number; body: string }[] = []
  const refusals: Refusal[] = []
  const requests: string[] = []
  /** Those of them that were answered with "not modified". */
  const unchanged: string[] = []
  let port = 0
  const html = (kind: 'issues' | 'pull', number: number): string =>
    `http://127.0.0.1:${port}/${repository}/${kind}/${number}`

  const issueRow = (issue: HeldIssue) => ({
    ...{ number: issue.number, title: issue.title, body: issue.body ?? null, state: issue.state ?? 'open' },
    html_url: html('issues', issue.number),
    labels: (issue.labels ?? []).map((name) => ({ name })),
    user: { login: issue.author ?? 'ada' },
    author_association: issue.association ?? 'OWNER',
  })
  const pullRow = (pull: HeldPull) => ({
    ...{
      number: pull.number,
      title: pull.title,
      body: pull.body,
      state: pull.state,
      html_url: html('pull', pull.number),
    },
    ...{
      merged_at: pull.mergedAt,
      merge_commit_sha: pull.mergeCommit,
      head: { ref: pull.branch, repo: { full_name: pull.repository ?? repository } },
      base: { ref: pull.base, repo: { full_name: repository } },
    },
  })

  const checkRow = ({ id, name, conclusion, log, summary }: HeldCheck) => ({
    ...{
      id,
      name,
      conclusion,
      status: conclusion === null ? 'in_progress' : 'completed',
      html_url: `${html('pull', 1)}/${id}`,
    },
    output: { title: null, summary: summary ?? null, text: null },
    app: { slug: log === undefined ? 'another-ci' : 'github-actions' },
  })
  const reviewRow = ({ id, state, body, author = 'ada', association = 'MEMBER' }: HeldReview) => ({
    ...{ id, state, body, user: { login: author }, author_association: association },
  })
  const issueCommentRow = ({ id, body }: { id: number; body: string }) => ({ id, body, author_association: 'MEMBER' })
  const commentRows = ({ id: review, comments = [] }: HeldReview) =>
    comments.map((comment) => ({ ...comment, pull_request_review_id: review }))

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    const path = url.pathname.replace(`/repos/${repository}`, '')
    const method = request.method ?? 'GET'
    requests.push(`${method} ${path}`)
    const send = (status: number, value: unknown, headers: Record<string, string> = {}): void => {
      const text = JSON.stringify(value)
      const etag = `W/"${createHash('sha256').update(text).digest('hex')}"`
      if (method === 'GET' && status === 200 && request.headers['if-none-match'] === etag) {
        unchanged.push(`${method} ${path}`)
        return void response.writeHead(304, { etag }).end()
      }
      response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', etag, ...headers })
      response.end(text)
    }
    const refusal = refusals.shift()
    if (refusal !== undefined) return send(refusal.status, { message: refusal.message ?? 'refused' }, refusal.headers)
    if (request.headers.authorization !== `token ${token}`) return send(401, { message: 'Bad credentials' })
    if (!url.pathname.startsWith(`/repos/${repository}/`)) return send(404, { message: 'Not Found' })
    const number = Number(/\/(\d+)$/.exec(path)?.[1])
    if (path === '/issues') {
      const label = url.searchParams.get('labels')
      const open = issues.filter(({ state }) => state !== 'closed')
      // It compares labels without their case.
      const has = (labels: string[]): boolean => labels.some((one) => one.toLowerCase() === label?.toLowerCase())
      const labelled = open.filter(({ labels = [] }) => label === null || has(labels))
      const asIssues = label === null ? pulls.filter(({ state }) => state === 'open') : []
      return send(200, [
        ...labelled.map(issueRow),
        ...asIssues.map((pull) => ({ ...issueRow({ number: pull.number, title: pull.title }), pull_request: {} })),
      ])
    }
    const commented = Number(/^\/issues\/(\d+)\/comments$/.exec(path)?.[1])
    if (issues.some((issue) => issue.number === commented)) {
      if (method === 'GET') return send(200, comments.filter(({ issue }) => issue === commented).map(issueCommentRow))
      const comment = { id: 900 + comments.length, issue: commented, body: (await bodyOf(request)).body ?? '' }
      comments.push(comment)
      return send(201, issueCommentRow(comment))
    }
    if (path.startsWith('/issues/comments/')) {
      const comment = comments.find(({ id }) => id === number)
      if (comment === undefined) return send(404, { message: 'Not Found' })
      comment.body = (await bodyOf(request)).body ?? ''
      return send(200, issueCommentRow(comment))
    }
    if (method === 'POST' && /\/(?:comments|replies)$/.test(path)) {
      const comment = /\/comments\/(\d+)\/replies$/.exec(path)?.[1]
      replies.push({
        comment: comment === undefined ? null : Number(comment),
        body: (await bodyOf(request)).body ?? '',
      })
      return send(201, {})
    }
    if (path.startsWith('/issues/')) {
      const issue = issues.find((held) => held.number === number)
      return issue === undefined ? send(404, { message: 'Not Found' }) : send(200, issueRow(issue))
    }
    if (path === '/pulls' && method === 'POST') {
      const { title = '', body = '', head: branch = '', base = '' } = await bodyOf(request)
      if (pulls.some((held) => held.branch === branch && held.state === 'open'))
        return send(422, { message: `A pull request already exists for acme:${branch}.` })
      const pull: HeldPull = {
        ...{ number: 100 + pulls.length, title, body, branch, base, state: 'open', mergedAt: null, mergeCommit: null },
      }
      pulls.push(pull)
      return send(201, pullRow(pull))
    }
    const ref = decodeURIComponent(/^\/commits\/(.+)\/(?:check-runs|status)$/.exec(path)?.[1] ?? '')
    if (path.endsWith('/check-runs'))
      return send(200, { total_count: 1, check_runs: checks.filter((check) => check.ref === ref).map(checkRow) })
    if (path.endsWith('/status')) return send(200, { statuses: statuses.filter((status) => status.ref === ref) })
    const job = checks.find(({ id }) => id === Number(/^\/actions\/jobs\/(\d+)\//.exec(path)?.[1]))
    if (job !== undefined && path.endsWith('/logs')) {
      if (job.log === undefined) return send(410, { message: 'Gone' })
      response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' })
      return void response.end(job.log)
    }
    if (job !== undefined && path.endsWith('/rerun')) {
      job.conclusion = null
      return send(201, {})
    }
    const reviewed = Number(/^\/pulls\/(\d+)\//.exec(path)?.[1])
    const ofPull = reviews.filter((review) => review.pull === reviewed)
    if (path.endsWith('/reviews')) return send(200, ofPull.map(reviewRow))
    if (path.endsWith('/comments') && method === 'GET') return send(200, ofPull.flatMap(commentRows))
    if (path === '/pulls') return send(200, pulls.filter(({ state }) => state === 'open').map(pullRow))
    const pull = pulls.find((held) => held.number === number)
    if (method === 'PATCH' && pull !== undefined) Object.assign(pull, await bodyOf(request))
    if (pull === undefined) return send(404, { message: 'Not Found' })
    return send(200, { ...pullRow(pull), mergeable: pull.mergeable === undefined ? true : pull.mergeable() })
  }

  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
  return {
    ...{
      issues,
      comments,
      pulls,
      checks,
      statuses,
      reviews,
      replies,
      refusals,
      requests,
      unchanged,
      repository,
      token,
    },
    apiUrl: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
