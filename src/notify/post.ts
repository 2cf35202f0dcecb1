/**
 * One POST request with a deadline over all of it. Redirects are not followed, names are resolved once, and of a response only
 * the beginning is read.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { checkedLookup, hostOf, whyTargetRefused, type ResolveName } from './target.ts'

export interface PostRequest {
  url: string
  headers: Record<string, string>
  body: string
  timeoutMs: number
  resolve?: ResolveName | undefined
  signal?: AbortSignal | undefined
}

export interface FailedSend {
  ok: false
  problem: string
  retryAfterSeconds: number
}

export type SendResult = { ok: true } | FailedSend

const failed = (problem: string, retryAfterSeconds = 0): FailedSend => ({ ok: false, problem, retryAfterSeconds })

const shownBytes = 2_048
const shownCharacters = 120

/** Plain text on one line: a response is written by others. */
const excerpt = (text: string): string => {
  const line = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()
  return line.length > shownCharacters ? `${line.slice(0, shownCharacters)}…` : line
}

const words: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed before a response came',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved now',
  EFORBIDDEN: 'its name resolves to a link-local, metadata or unencrypted foreign address',
  ETIMEDOUT: 'it did not respond',
}

const problemOf = (error: unknown): string => {
  const { code = '', name } = error as NodeJS.ErrnoException
  if (name === 'TimeoutError' || name === 'AbortError') return 'it did not respond in time'
  return words[code] ?? (code.startsWith('HPE_') ? 'the response is not HTTP' : code || 'the request failed')
}

interface Body {
  text: string
  /** `cut` = it was longer; `broken` = the connection or the time ended before it did. */
  end: 'whole' | 'cut' | 'broken'
}

const firstBytes = async (response: IncomingMessage, most: number): Promise<Body> => {
  const chunks: Buffer[] = []
  let length = 0
  let end: Body['end'] = 'whole'
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      length += chunk.length
      if (length <= most) continue
      end = 'cut'
      break
    }
  } catch {
    end = 'broken' // the caller decides what half a body is worth
  }
  response.destroy()
  return { text: Buffer.concat(chunks).subarray(0, most).toString('utf8'), end }
}

const secondsOf = (header: string | undefined): number => (/^\d{1,6}$/.test(header ?? '') ? Number(header) : 0)

/** In words, with the beginning of what the receiver said. */
const failureOf = async (response: IncomingMessage): Promise<string> => {
  const status = response.statusCode ?? 0
  if (status >= 300 && status < 400) {
    response.destroy()
    return `status ${status}: redirects are not followed; configure the final URL`
  }
  const text = excerpt((await firstBytes(response, shownBytes)).text)
  return `status ${status}${text === '' ? '' : `: ${text}`}`
}

const resultOf = async (response: IncomingMessage): Promise<SendResult> => {
  const status = response.statusCode ?? 0
  if (status < 200 || status >= 300)
    return failed(await failureOf(response), secondsOf(response.headers['retry-after']))
  response.destroy()
  return { ok: true }
}

type Request = Omit<PostRequest, 'timeoutMs'> & { method: 'GET' | 'POST'; signal: AbortSignal }

const respondedBy = (url: URL, { method, headers, body, resolve, signal }: Request): Promise<IncomingMessage> =>
  new Promise((done, fail) => {
    const outgoing = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
      ...{ method, agent: false, signal, lookup: checkedLookup(url, resolve), maxHeaderSize: 16_384 },
      headers: { ...headers, 'content-length': String(Buffer.byteLength(body)), 'user-agent': 'unstuck' },
    })
    // Stays when the response has come: what breaks off then must not end this process.
    outgoing.on('error', fail)
    outgoing.on('response', done)
    outgoing.end(body)
  })

/** Never throws. A problem names the host only, because paths of such URLs are secrets. */
const exchange = async <T>(
  method: Request['method'],
  { timeoutMs, signal: ended, ...request }: PostRequest,
  read: (response: IncomingMessage) => Promise<T>,
): Promise<T | FailedSend> => {
  const refused = whyTargetRefused(request.url)
  if (refused !== undefined) return failed(`nothing was sent: ${refused}`)
  const url = new URL(request.url)
  const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(ended === undefined ? [] : [ended])])
  try {
    return await read(await respondedBy(url, { ...request, method, signal }))
  } catch (error) {
    return failed(`${hostOf(url)}: ${problemOf(error)}`)
  }
}

export const post = (request: PostRequest): Promise<SendResult> => exchange('POST', request, resultOf)

const readBytes = 256 * 1024

const bodyOf = async (response: IncomingMessage) => {
  if (response.statusCode !== 200) return failed(await failureOf(response))
  const { text, end } = await firstBytes(response, readBytes)
  return end === 'broken' ? failed('the response ended early') : { ok: true as const, text, isCut: end === 'cut' }
}

/** The text at a URL, at most its first 256 KiB. A response that breaks off is a failure: what it lacks is unknown. */
export const readText = (
  request: Omit<PostRequest, 'body'>,
): Promise<{ ok: true; text: string; isCut: boolean } | FailedSend> => exchange('GET', { ...request, body: '' }, bodyOf)
