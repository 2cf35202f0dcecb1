/** A stand-in for the part of GitHub's API that Unstuck uses, on loopback. What it holds is changed by the test, as people would. */
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
  const refusals: Refusal[] = []
  const requests: string[] = []
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

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    const path = url.pathname.replace(`/repos/${repository}`, '')
    const method = request.method ?? 'GET'
    requests.push(`${method} ${path}`)
    const send = (status: number, value: unknown, headers: Record<string, string> = {}): void => {
      response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
      response.end(JSON.stringify(value))
    }
    const refusal = refusals.shift()
    if (refusal !== undefined) return send(refusal.status, { message: refusal.message ?? 'refused' }, refusal.headers)
    if (request.headers.authorization !== `token ${token}`) return send(401, { message: 'Bad credentials' })
    if (!url.pathname.startsWith(`/repos/${repository}/`)) return send(404, { message: 'Not Found' })
    const number = Number(/\/(\d+)$/.exec(path)?.[1])
    if (path === '/issues') {
      const label = url.searchParams.get('labels')
      const open = issues.filter(({ state }) => state !== 'closed')
      const labelled = open.filter(({ labels = [] }) => label === null || labels.includes(label))
      const asIssues = label === null ? pulls.filter(({ state }) => state === 'open') : []
      return send(200, [
        ...labelled.map(issueRow),
        ...asIssues.map((pull) => ({ ...issueRow({ number: pull.number, title: pull.title }), pull_request: {} })),
      ])
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
    if (path === '/pulls') return send(200, pulls.filter(({ state }) => state === 'open').map(pullRow))
    const pull = pulls.find((held) => held.number === number)
    return pull === undefined ? send(404, { message: 'Not Found' }) : send(200, pullRow(pull))
  }

  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
  return {
    ...{ issues, pulls, refusals, requests, repository, token },
    apiUrl: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
