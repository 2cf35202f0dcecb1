/** Signatures after the Standard Webhooks convention: HMAC-SHA256 over id, timestamp and body, with a base64 secret. */
import { createHmac } from 'node:crypto'

const prefix = 'whsec_'
const secretBytes = { least: 24, most: 64 }

/** The key of a secret as it is written (`whsec_…`); undefined = it is none. */
export const signingKey = (secret: string): Buffer | undefined => {
  const text = secret.slice(prefix.length)
  if (!secret.startsWith(prefix) || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined
  const key = Buffer.from(text, 'base64')
  return key.length >= secretBytes.least && key.length <= secretBytes.most ? key : undefined
}

export interface Signed {
  id: string
  /** Seconds since 1970. */
  timestamp: number
  body: string
}

export const webhookSignature = (key: Buffer, { id, timestamp, body }: Signed): string =>
  `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
