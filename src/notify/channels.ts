/** How one notification is sent over one of the channels. */
import type { ChannelName, NotifySettings } from '../domain/notification.ts'
import { showOnDesktop } from './desktop.ts'
import { isSlackUrl, ntfyBody, slackBody, standardBody, type Message } from './message.ts'
import { post, type SendResult } from './post.ts'
import { webhookSignature, signingKey } from './sign-request.ts'
import type { ResolveName } from './target.ts'

export interface SendOptions {
  settings: NotifySettings
  environment: Record<string, string | undefined>
  /** Now, for the timestamp of the signature. */
  now: Date
  timeoutMs?: number
  resolve?: ResolveName
  /** Ends the attempt before its time. */
  signal?: AbortSignal
}

const defaultTimeoutMs = 10_000

const json = { 'content-type': 'application/json' }

/** Whether the receiver expects Slack's form. */
export const usesSlack = ({ webhooks: { on_escalation: url, style } }: NotifySettings): boolean =>
  style === 'slack' || (style === 'auto' && url !== undefined && isSlackUrl(new URL(url)))

const webhook = (message: Message, { settings, now, timeoutMs = defaultTimeoutMs, resolve, signal }: SendOptions) => {
  const { on_escalation: url = '', secret } = settings.webhooks
  if (usesSlack(settings)) return post({ url, headers: json, body: slackBody(message), timeoutMs, resolve, signal })
  const body = standardBody(message)
  const { id } = message
  const timestamp = Math.floor(now.getTime() / 1000)
  const key = secret === undefined ? undefined : signingKey(secret)
  const headers = {
    ...json,
    ...{ 'webhook-id': id, 'webhook-timestamp': String(timestamp) },
    ...(key === undefined ? {} : { 'webhook-signature': webhookSignature(key, { id, timestamp, body }) }),
  }
  return post({ url, headers, body, timeoutMs, resolve, signal })
}

/** A header must not hold line breaks; a token with them would be a mistake of copying. */
export const ntfyToken = (environment: Record<string, string | undefined>, variable: string): string => {
  const token = environment[variable] ?? ''
  return /^[\x21-\x7e]{1,500}$/.test(token) ? token : ''
}

/** JSON is published at the root of the server; the last part of the configured URL is the topic. */
const ntfy = (
  message: Message,
  { settings, environment, timeoutMs = defaultTimeoutMs, resolve, signal }: SendOptions,
) => {
  const { ntfy: text = '', ntfyTokenVariable } = settings.notify
  const url = new URL(text)
  const parts = url.pathname.split('/').filter((part) => part !== '')
  const topic = parts.pop() ?? ''
  url.pathname = `/${parts.join('/')}`
  const token = ntfyToken(environment, ntfyTokenVariable)
  const headers: Record<string, string> = { ...json, ...(token === '' ? {} : { authorization: `Bearer ${token}` }) }
  return post({
    url: url.href,
    headers,
    body: ntfyBody(message, topic, settings.notify.ntfyAnswers),
    timeoutMs,
    resolve,
    signal,
  })
}

/** Sends one notification over one channel, once. Never throws for what a receiver does. */
export const sendOver = (channel: ChannelName, message: Message, options: SendOptions): Promise<SendResult> => {
  const { environment, timeoutMs = defaultTimeoutMs, signal } = options
  switch (channel) {
    case 'webhook':
      return webhook(message, options)
    case 'ntfy':
      return ntfy(message, options)
    case 'desktop':
      return showOnDesktop(message, { environment, timeoutMs, signal })
  }
}
