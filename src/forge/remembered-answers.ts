/**
 * What GitHub answered, by address, so that the same question is asked with `If-None-Match`: an answer of "not modified" costs nothing of
 * the rate limit. The forge still checks the token each time.
 */

type Headers = Record<string, string | number | undefined>

interface Remembered {
  etag: string
  status: number
  headers: Headers
  /** As text, because those who read an answer also change it. */
  text: string
}

/** In characters, of all answers together. The one that was asked for longest ago goes first. */
const most = 8_000_000

/** A next page is named only in a header, which an unchanged full page would hide. */
const pageSize = 100

export interface RememberedAnswers {
  get(url: string): Remembered | undefined
  add(url: string, answer: { status: number; headers: Headers; data: unknown }): void
}

export const rememberAnswers = (): RememberedAnswers => {
  const known = new Map<string, Remembered>()
  let size = 0
  const remove = (url: string): void => {
    size -= known.get(url)?.text.length ?? 0
    known.delete(url)
  }
  const insert = (url: string, answer: Remembered): void => {
    remove(url)
    known.set(url, answer)
    size += answer.text.length
  }
  return {
    get: (url) => {
      const answer = known.get(url)
      if (answer !== undefined) insert(url, answer)
      return answer
    },
    add: (url, { status, headers, data }) => {
      remove(url)
      const { etag } = headers
      if (typeof etag !== 'string' || typeof data !== 'object') return
      if (Array.isArray(data) && data.length >= pageSize && headers.link === undefined) return
      insert(url, { etag, status, headers, text: JSON.stringify(data) })
      for (const oldest of known.keys()) {
        if (size <= most) return
        remove(oldest)
      }
    },
  }
}
