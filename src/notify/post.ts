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

export type SendResult = { ok: true } | { ok: false; problem: string; retryAfterSeconds: number }

const failed = (problem: string, retryAfterSeconds = 0): SendResult => ({ ok: false, problem, retryAfterSeconds })

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

const firstBytes = async (response: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      length += chunk.length
      if (length >= shownBytes) break
    }
  } catch {
    // The status is known already, and a broken body adds nothing to it.
  }
  response.destroy()
  return Buffer.concat(chunks).subarray(0, shownBytes).toString('utf8')
}

const secondsOf = (header: string | undefined): number => (/^\d{1,6}$/.test(header ?? '') ? Number(header) : 0)

const resultOf = async (response: IncomingMessage): Promise<SendResult> => {
  const status = response.statusCode ?? 0
  if (status >= 200 && status < 300) {
    response.destroy()
    return { ok: true }
  }
  if (status >= 300 && status < 400) {
    response.destroy()
    return failed(`status ${status}: redirects are not followed; configure the final URL`)
  }
  const text = excerpt(await firstBytes(response))
  return failed(`status ${status}${text === '' ? '' : `: ${text}`}`, secondsOf(response.headers['retry-after']))
}

/** Never throws. A problem names the host only, because paths of such URLs are secrets. */
export const post = async ({
  url: text,
  headers,
  body,
  timeoutMs,
  resolve,
  signal: ended,
}: PostRequest): Promise<SendResult> => {
  const refused = whyTargetRefused(text)
  if (refused !== undefined) return failed(`nothing was sent: ${refused}`)
  const url = new URL(text)
  const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(ended === undefined ? [] : [ended])])
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  try {
    const response = await new Promise<IncomingMessage>((done, fail) => {
      const outgoing = send(url, {
        ...{ method: 'POST', agent: false, signal, lookup: checkedLookup(url, resolve), maxHeaderSize: 16_384 },
        headers: { ...headers, 'content-length': String(Buffer.byteLength(body)), 'user-agent': 'unstuck' },
      })
      // Stays when the response has come: what breaks off then must not end this process.
      outgoing.on('error', fail)
      outgoing.on('response', done)
      outgoing.end(body)
    })
    return await resultOf(response)
  } catch (error) {
    return failed(`${hostOf(url)}: ${problemOf(error)}`)
  }
}
