/**
 * Signed links with which a person answers a question in a browser. A link names its question, the choices that it offers and when it
 * ends, all under an HMAC with a key of the state folder. It is stored nowhere. That it answers once follows from the question, which is
 * decided once.
 */
import { createHmac } from 'node:crypto'
import { AppError } from '../errors.ts'
import { whyTargetRefused } from '../notify/target.ts'
import type { AnswerLinks } from '../runtime/core/context.ts'
import { sameSecret } from './same-secret.ts'
import { readSecret } from './state-dir.ts'

export const answerPath = '/answer/'

const form = /^((q-[a-z0-9]{1,40})\.(\d{1,12})((?:\.[a-z_]{1,40}){1,10}))\.([\w-]{43})$/

/** Why links cannot begin with this URL; undefined = they can. */
const whyRefused = (text: string): string | undefined => {
  const refused = whyTargetRefused(text)
  if (refused !== undefined) return refused
  const { search, hash, pathname } = new URL(text)
  if (search !== '' || hash !== '') return 'it has a "?" or "#"'
  return /^[\w./~-]*$/.test(pathname)
    ? undefined
    : 'its path has characters other than letters, digits, ".", "_", "~" and "-"'
}

/** Throws USAGE for a URL that links cannot begin with. */
export const parsePublicUrl = (text: string): URL => {
  const refused = whyRefused(text)
  if (refused === undefined) return new URL(text)
  throw new AppError(
    'USAGE',
    `--public-url is not usable: ${refused}; give the https:// URL under which a proxy of yours passes ${answerPath} to this engine, such as https://unstuck.example.com`,
  )
}

const secondsOf = (time: Date): number => Math.floor(time.getTime() / 1000)

export const openAnswerLinks = (stateDir: string, publicUrl: URL): AnswerLinks => {
  const key = Buffer.from(readSecret(stateDir, 'link-key'), 'base64url')
  const macOf = (signed: string): string => createHmac('sha256', key).update(`answer ${signed}`).digest('base64url')
  const base = `${publicUrl.origin}${publicUrl.pathname.replace(/\/+$/, '')}${answerPath}`
  return {
    publicUrl,
    urlOf: ({ question, choices, expiresAt }) => {
      const signed = [question, secondsOf(expiresAt), ...choices].join('.')
      return `${base}${signed}.${macOf(signed)}`
    },
    read: (token) => {
      const [, signed = '', question = '', seconds = '', choices = '', mac = ''] = form.exec(token) ?? []
      if (!sameSecret(mac, macOf(signed))) return undefined
      return { question, choices: choices.slice(1).split('.'), expiresAt: new Date(Number(seconds) * 1000) }
    },
  }
}
