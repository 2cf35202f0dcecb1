/** The work of `unstuck notify`: a test of the configured channels without an engine, the list of what was sent, and a retry. */
import { randomUUID } from 'node:crypto'
import type { NotificationJson, RetriedDeliveryJson } from '../api/contract.ts'
import { loadConfig, type Config } from '../config/config.ts'
import { configuredChannels, endData, type ChannelName } from '../domain/notification.ts'
import { exitCodes } from '../errors.ts'
import { sendOver, usesSlack } from '../notify/channels.ts'
import type { SendResult } from '../notify/post.ts'
import { redactText } from '../process/redact.ts'
import type { JsonOption } from './command-options.ts'
import { connectToExisting } from './engine/connect-to-change.ts'
import { homeOf } from './engine/home.ts'
import { readOnly } from './engine/read-only.ts'
import { printLine, printJson, type Io } from './io.ts'
import { createPaint, safe, type Paint } from './render.ts'
import { whenText } from './times.ts'

interface Tested {
  channel: ChannelName
  ok: boolean
  /** Empty = it was delivered. */
  problem: string
}

const keys: Record<ChannelName, { key: string; hint: string }> = {
  webhook: { key: 'webhooks.on_escalation', hint: '"webhooks": {"on_escalation": "https://…"}' },
  ntfy: { key: 'notify.ntfy', hint: '"notify": {"ntfy": "https://ntfy.sh/<a long random name>"}' },
  desktop: { key: 'notify.desktop', hint: '"notify": {"desktop": true}' },
}

const testOver = async (io: Io, channel: ChannelName, settings: Config): Promise<Tested> => {
  const now = new Date()
  const title = 'Notifications of Unstuck arrive here.'
  const data = endData(title, 'This is a test. You need not do anything.', 'test')
  const about = { goalId: null, taskId: null, runId: null, escalationId: null }
  const result: SendResult = await sendOver(
    channel,
    { ...about, id: `msg_test_${randomUUID()}`, kind: 'test', severity: 'normal', data, createdAt: now },
    { settings, environment: io.environment, now, signal: io.signal },
  )
  return { channel, ok: result.ok, problem: result.ok ? '' : redactText(result.problem, io.environment) }
}

const testedLine = (paint: Paint, { channel, ok, problem }: Tested): string =>
  ok
    ? `${paint.good('ok ')} ${channel}: delivered`
    : `${paint.bad('BAD')} ${channel} (${keys[channel].key}): ${safe(problem)}`

const explainMissing = (io: Io, asked: ChannelName | undefined): void => {
  if (asked === undefined)
    printLine(io, 'No channel is configured, so Unstuck cannot notify you when it needs an answer.')
  else printLine(io, `The channel ${asked} is not configured.`)
  const hints = asked === undefined ? Object.values(keys) : [keys[asked]]
  printLine(io, `Add to .unstuck/config.json: ${hints.map(({ hint }) => hint).join('   or   ')}`)
  printLine(io, 'Then: unstuck notify test')
}

export const notifyTestCommand = async (
  io: Io,
  { channel: asked, json }: JsonOption & { channel?: ChannelName },
): Promise<number> => {
  const { repository } = await homeOf(io)
  const settings = loadConfig({ root: repository.root, environment: io.environment })
  const channels = configuredChannels(settings).filter((channel) => asked === undefined || channel === asked)
  const tested = await Promise.all(channels.map((channel) => testOver(io, channel, settings)))
  const ok = tested.length > 0 && tested.every((entry) => entry.ok)
  if (json === true) printJson(io, { ok, channels: tested })
  else if (tested.length === 0) explainMissing(io, asked)
  else {
    const paint = createPaint(io.colours)
    for (const entry of tested) printLine(io, testedLine(paint, entry))
    if (channels.includes('webhook') && settings.webhooks.secret === undefined && !usesSlack(settings))
      printLine(io, 'The webhook is not signed. To sign it, set UNSTUCK_WEBHOOK_SECRET (docs/notifications.md).')
  }
  if (tested.length === 0) return exitCodes.config
  return ok ? exitCodes.ok : exitCodes.failed
}

const deliveryText = (
  id: string,
  { channel, state, attempts, nextAt, problem }: NotificationJson['deliveries'][number],
  now: Date,
): string => {
  if (state === 'delivered') return `${channel}: delivered`
  if (state === 'given_up')
    return `${channel}: given up after ${attempts} attempts: ${problem}; to send it again: unstuck notify retry ${id}`
  if (attempts === 0) return `${channel}: not sent yet`
  return `${channel}: attempt ${attempts} failed${problem === '' ? '' : ` (${problem})`}, next ${whenText(nextAt ?? '', now)}`
}

const notificationLines = (paint: Paint, entry: NotificationJson, now: Date): string[] => {
  const { kind, severity, title, dueAt, handedOverAt, deliveries, id } = entry
  const unsent = handedOverAt === null ? 'not sent yet' : 'sent over no channel'
  return [
    `  ${whenText(dueAt, now)}  ${kind} (${severity}): ${safe(title)} ${paint.dim(`[${id}]`)}`,
    ...(deliveries.length === 0 ? [unsent] : deliveries.map((delivery) => deliveryText(id, delivery, now))).map(
      (text) => `      ${paint.dim(safe(text))}`,
    ),
  ]
}

export const notifyListCommand = async (io: Io, { limit, json }: JsonOption & { limit?: string }): Promise<number> => {
  const path = `/notifications?limit=${encodeURIComponent(limit ?? '20')}`
  const entries = await readOnly(io, ({ client }) => client.get<NotificationJson[]>(path))
  if (json === true) printJson(io, entries)
  else if (entries.length === 0) printLine(io, 'Nothing was sent yet. To try your channels: unstuck notify test')
  const [paint, now] = [createPaint(io.colours), new Date()]
  if (json !== true)
    for (const entry of entries) for (const text of notificationLines(paint, entry, now)) printLine(io, text)
  return exitCodes.ok
}

export const notifyRetryCommand = async (io: Io, id: string | undefined, { json }: JsonOption): Promise<number> => {
  const client = await connectToExisting(io)
  const retried = await client.post<RetriedDeliveryJson[]>('/notifications/retry', id === undefined ? {} : { id })
  if (json === true) printJson(io, retried)
  else if (retried.length === 0)
    printLine(
      io,
      'Nothing to send again: no delivery over a configured channel was given up, or its question is answered.',
    )
  for (const { notificationId, channel } of json === true ? [] : retried)
    printLine(io, `${safe(notificationId)}: sent again over ${channel}; see: unstuck notify list`)
  return exitCodes.ok
}
