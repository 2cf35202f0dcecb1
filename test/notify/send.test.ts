/** Sending over each channel to real servers on this machine: forms, signature, and what a foreign or broken receiver may do. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { configSchema } from '../../src/config/config-schema.ts'
import { loadConfig } from '../../src/config/config.ts'
import { questionData } from '../../src/domain/notification.ts'
import { sendOver, usesSlack, type SendOptions } from '../../src/notify/channels.ts'
import { plainText, type Message } from '../../src/notify/message.ts'
import { post } from '../../src/notify/post.ts'
import { webhookSignature, signingKey } from '../../src/notify/sign-request.ts'
import { isForbiddenAddress, whyTargetRefused } from '../../src/notify/target.ts'
import { openReceiver, openTalker, type Receiver } from './receiver.ts'

const open: Pick<Receiver, 'close'>[] = []
afterEach(async () => {
  for (const entry of open.splice(0)) await entry.close()
})
const kept = <T extends Pick<Receiver, 'close'>>(entry: T): T => {
  open.push(entry)
  return entry
}

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const now = new Date('2026-03-01T10:00:00Z')
const choice = {
  kind: 'retry',
  id: 'retry',
  label: 'Retry',
  effect: '',
  command: 'unstuck answer q-1 retry',
  input: null,
}
const message = (more: Partial<Message> = {}): Message => ({
  ...{ id: 'msg_repo_q-1-opened', kind: 'escalation.opened', severity: 'normal', createdAt: now },
  ...{ goalId: 'g-1', taskId: 't-1', runId: 'r-1', escalationId: 'q-1' },
  data: questionData({
    ...{ kind: 'exhausted', happened: 'Task 1 <!channel> & failed', question: 'What now?', details: '' },
    choices: [choice as never],
  }),
  ...more,
})
const optionsOf = (config: object, more: Partial<SendOptions> = {}): SendOptions => ({
  ...{ settings: configSchema.parse(config), environment: {}, now, timeoutMs: 5_000 },
  ...more,
})

type Request = { headers: Record<string, unknown>; body: string }
type Recipe = (request: Request, secret: string, seen: Set<string>, now: number) => boolean

/** The program in docs/notifications.md, as a receiver would copy it. */
const recipe = async (): Promise<Recipe> => {
  const page = readFileSync(new URL('../../docs/notifications.md', import.meta.url), 'utf8')
  const program = /```js\n(.*?)```/s.exec(page)?.[1] ?? ''
  const loaded = (await import(`data:text/javascript,${encodeURIComponent(program)}`)) as { isFromUnstuck: Recipe }
  return loaded.isFromUnstuck
}
const isFromUnstuck = await recipe()
const verifies = (request: Request, now: number, key = secret, seen = new Set<string>()): boolean =>
  isFromUnstuck(request, key, seen, now)

describe('the webhook', () => {
  test('the signature is the one of the published example of the convention', () => {
    const signed = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1_614_265_330, body: '{"test": 2432232314}' }
    expect(webhookSignature(signingKey(secret)!, signed)).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  })

  test('is signed, has a stable id, and a changed, old or foreign request does not verify', async () => {
    const receiver = kept(await openReceiver())
    const options = optionsOf({ webhooks: { on_escalation: `${receiver.url}/hook`, secret } })
    expect(await sendOver('webhook', message(), options)).toEqual({ ok: true })
    const [got] = receiver.received
    const at = now.getTime() / 1000
    expect(got!.headers['webhook-id']).toBe('msg_repo_q-1-opened')
    expect(JSON.parse(got!.body)).toMatchObject({
      ...{ type: 'escalation.opened', timestamp: now.toISOString() },
      data: { severity: 'normal', goal: 'g-1', task: 't-1', escalation: 'q-1', choices: [{ id: 'retry' }] },
    })
    expect(verifies(got!, at)).toBe(true)
    expect(verifies({ ...got!, body: got!.body.replace('normal', 'urgent') }, at)).toBe(false)
    expect(verifies(got!, at + 301)).toBe(false)
    expect(verifies(got!, at - 301)).toBe(false)
    expect(verifies({ ...got!, headers: { ...got!.headers, 'webhook-timestamp': 'now' } }, at)).toBe(false)
    const seen = new Set<string>()
    expect([verifies(got!, at, secret, seen), verifies(got!, at, secret, seen)]).toEqual([true, false])
    expect(verifies(got!, at, `whsec_${Buffer.alloc(32, 7).toString('base64')}`)).toBe(false)
    expect(verifies({ ...got!, headers: { ...got!.headers, 'webhook-id': 'msg_other' } }, at)).toBe(false)
  })

  test('has the form of Slack where the style says so, without links or mentions made of its text', async () => {
    const receiver = kept(await openReceiver())
    const options = optionsOf({ webhooks: { on_escalation: receiver.url, style: 'slack', secret } })
    expect(await sendOver('webhook', message(), options)).toEqual({ ok: true })
    const { text, ...rest } = JSON.parse(receiver.received[0]!.body) as { text: string }
    expect(rest).toEqual({})
    expect(text).toContain('*Your answer is needed*\nTask 1 &lt;!channel&gt; &amp; failed')
    expect(text).toContain('Retry: unstuck answer q-1 retry')
    expect(receiver.received[0]!.headers['webhook-signature']).toBeUndefined()
  })

  test.each([
    ['https://hooks.slack.com/services/T0/B0/x', 'auto', true],
    ['https://hooks.slack.com.evil.example/services', 'auto', false],
    ['https://discord.com/api/webhooks/1/x/slack', 'auto', true],
    ['https://hooks.slack.com/services/T0/B0/x', 'standard', false],
    ['https://chat.example.com/hooks/x', 'slack', true],
  ])('%s with the style %s', (url, style, slack) => {
    expect(usesSlack(configSchema.parse({ webhooks: { on_escalation: url, style } }))).toBe(slack)
  })
})

describe('ntfy', () => {
  test.each([
    ['low', 2],
    ['normal', 3],
    ['high', 4],
    ['urgent', 5],
  ] as const)(
    'a severity of %s has the priority %i, and the token comes from the environment',
    async (severity, priority) => {
      const receiver = kept(await openReceiver())
      const options = optionsOf(
        { notify: { ntfy: `${receiver.url}/base/my-topic` } },
        { environment: { UNSTUCK_NTFY_TOKEN: 'tk_1' } },
      )
      expect(await sendOver('ntfy', message({ severity }), options)).toEqual({ ok: true })
      const [got] = receiver.received
      expect([got!.path, got!.headers.authorization]).toEqual(['/base', 'Bearer tk_1'])
      expect(JSON.parse(got!.body)).toMatchObject({ topic: 'my-topic', priority })
    },
  )

  test('a long text is cut to what ntfy takes', async () => {
    const receiver = kept(await openReceiver())
    const data = { ...message().data, text: '€'.repeat(4_000) }
    await sendOver('ntfy', message({ data }), optionsOf({ notify: { ntfy: `${receiver.url}/t` } }))
    const body = JSON.parse(receiver.received[0]!.body) as { message: string }
    expect(Buffer.byteLength(body.message)).toBeLessThan(4_096)
    expect(body.message).toMatch(/€…$/)
  })
})

describe('a link to answer', () => {
  const answerUrl = 'https://unstuck.example.com/answer/q-1.2.retry.x_-y'
  const data = { ...message().data, title: 'Task 1 failed', text: 'x'.repeat(4_000) }

  test.each([
    ['standard', (body: { data: { answerUrl?: string } }) => body.data.answerUrl],
    ['slack', (body: { text: string }) => /\nTask 1 failed\n<(.*)\|Answer in a browser>\nx/.exec(body.text)?.[1]],
  ])('is in a webhook of the style %s', async (style, linkIn) => {
    const receiver = kept(await openReceiver())
    const options = optionsOf({ webhooks: { on_escalation: receiver.url, style } })
    await sendOver('webhook', message({ data, answerUrl }), options)
    await sendOver('webhook', message({ data }), options)
    const [link, none] = receiver.received.map(({ body }) => linkIn(JSON.parse(body) as never))
    expect([link, none ?? undefined]).toEqual([answerUrl, undefined])
  })

  test('opens with a tap in ntfy, and is in its text and on the desktop before what is cut', async () => {
    const receiver = kept(await openReceiver())
    await sendOver('ntfy', message({ data, answerUrl }), optionsOf({ notify: { ntfy: `${receiver.url}/t` } }))
    const body = JSON.parse(receiver.received[0]!.body) as { message: string; click: string }
    expect([body.click, body.message.split('\n')[1]]).toEqual([answerUrl, `To answer in a browser: ${answerUrl}`])
    expect(plainText(message({ data, answerUrl })).slice(0, 800)).toContain(answerUrl)
  })

  test('spells characters that would hide or turn what stands there', () => {
    const shown = plainText(message({ data: { ...message().data, text: 'run npm \u202ellatsni' } }))
    expect(shown).toContain('run npm <U+202E>llatsni')
  })
})

test('the desktop gets the text without markup, and a missing program is named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-desktop-'))
  open.push({ close: async () => rmSync(folder, { recursive: true }) })
  const settings = { notify: { desktop: true } }
  const nothing = optionsOf(settings, { environment: { PATH: folder } })
  expect(await sendOver('desktop', message(), nothing)).toMatchObject({
    problem: 'the program notify-send is not installed',
  })
  writeFileSync(
    join(folder, 'notify-send'),
    `#!/bin/sh\nfor word in "$@"; do echo "$word"; done > "${folder}/shown"\necho "$TOKEN" >> "${folder}/shown"\n`,
  )
  chmodSync(join(folder, 'notify-send'), 0o755)
  const environment = { PATH: `${folder}:/usr/bin:/bin`, TOKEN: 'secret-token' }
  expect(await sendOver('desktop', message({ severity: 'urgent' }), optionsOf(settings, { environment }))).toEqual({
    ok: true,
  })
  const shown = readFileSync(join(folder, 'shown'), 'utf8')
  expect(shown).toContain(
    '--urgency=critical\n--\nUnstuck: Urgent: Your answer is needed\nTask 1 &lt;!channel&gt; &amp; failed',
  )
  expect(shown).not.toContain('secret-token')
})

test('a stop of the engine ends the program that shows it on the desktop', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-desktop-'))
  open.push({ close: async () => rmSync(folder, { recursive: true }) })
  const receiver = kept(await openReceiver(() => undefined))
  const program = `#!${process.execPath}\nfetch(${JSON.stringify(receiver.url)}).catch(() => undefined)\n`
  writeFileSync(join(folder, 'notify-send'), program)
  chmodSync(join(folder, 'notify-send'), 0o755)
  const stop = new AbortController()
  const options = optionsOf({ notify: { desktop: true } }, { environment: { PATH: folder }, signal: stop.signal })
  const shown = sendOver('desktop', message(), { ...options, timeoutMs: 60_000 })
  await receiver.count(1)
  stop.abort()
  expect(await shown).toMatchObject({ ok: false, problem: expect.stringContaining('the engine stopped') })
})

describe('a receiver that does not behave', () => {
  const send = (url: string, timeoutMs = 5_000) => post({ url, headers: {}, body: '{}', timeoutMs })

  test.each([301, 302, 303, 307, 308])('a redirect with %i is not followed', async (status) => {
    const trap = kept(await openReceiver())
    const receiver = kept(await openReceiver((response) => response.writeHead(status, { location: trap.url }).end()))
    expect(await send(receiver.url)).toMatchObject({
      ok: false,
      problem: expect.stringContaining('redirects are not followed'),
    })
    expect(trap.received).toEqual([])
  })

  test('one that never responds, or never ends its response, is left at the deadline', async () => {
    const silent = kept(await openReceiver(() => undefined))
    expect(await send(silent.url, 100)).toMatchObject({ ok: false, problem: '127.0.0.1: it did not respond in time' })
    const endless = kept(await openReceiver((response) => void response.writeHead(500).write('x')))
    // On a busy machine the deadline may come before the status.
    expect(await send(endless.url, 100)).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/^status 500(: x)?$|did not respond in time$/),
    })
  })

  test('one that ends the connection within its response is judged by the status', async () => {
    const broken = (status: number) =>
      openReceiver((response) => response.writeHead(status).write('x', () => void response.destroy()))
    expect(await send(kept(await broken(500)).url)).toMatchObject({ ok: false, problem: 'status 500: x' })
    expect(await send(kept(await broken(200)).url)).toEqual({ ok: true })
  })

  test('an endless body of a failure is read to its beginning and shown on one short line', async () => {
    const flood = (response: { write(text: string): boolean; once(event: 'drain', work: () => void): void }): void => {
      while (response.write('\u001b[31mno\n'.repeat(1_000)));
      response.once('drain', () => flood(response))
    }
    const receiver = kept(await openReceiver((response) => flood(response.writeHead(403))))
    const { problem } = (await send(receiver.url)) as { problem: string }
    expect(problem).toMatch(/^status 403: \[31mno \[31mno/)
    expect(problem.length).toBeLessThan(160)
    // eslint-disable-next-line no-control-regex
    expect(problem).not.toMatch(/[\u0000-\u001f]/)
  })

  test('what is not HTTP, or ends early, is told in words', async () => {
    const garbage = kept(await openTalker((socket) => socket.end('220 mail ready\r\n')))
    expect(await send(garbage.url)).toMatchObject({ problem: '127.0.0.1: the response is not HTTP' })
    const gone = kept(await openTalker((socket) => socket.destroy()))
    expect(await send(gone.url)).toMatchObject({ problem: expect.stringContaining('closed before a response') })
    const closed = await openReceiver()
    await closed.close()
    expect(await send(closed.url)).toMatchObject({ problem: '127.0.0.1: the connection was refused' })
  })

  test('a wait that it asks for is honoured where it is a number of seconds', async () => {
    const receiver = kept(
      await openReceiver((response, _request, number) =>
        response.writeHead(429, { 'retry-after': number === 1 ? '120' : 'Wed, 01 Jan 2099 00:00:00 GMT' }).end(),
      ),
    )
    expect(await send(receiver.url)).toMatchObject({ retryAfterSeconds: 120 })
    expect(await send(receiver.url)).toMatchObject({ retryAfterSeconds: 0 })
  })
})

describe('where nothing is sent', () => {
  test.each([
    'http://example.com/hook',
    'http://10.0.0.1/hook',
    'http://127.0.0.1.example.com/hook',
    'https://169.254.169.254/latest/meta-data',
    'https://0xa9fea9fe/',
    'https://2852039166/',
    'https://[fe80::1]/',
    'https://[::ffff:169.254.169.254]/',
    'https://[64:ff9b::169.254.169.254]/',
    'https://[fd00:ec2::254]/',
    'https://100.100.100.200/',
    'https://0.0.0.0/',
    'http://[::]/',
    'https://224.0.0.1/',
    'https://255.255.255.255/',
    'https://metadata.google.internal/computeMetadata',
    'https://METADATA.google.internal./',
    'https://user:pass@example.com/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'hooks.slack.com/services',
    '',
  ])('%s', (url) => {
    expect(whyTargetRefused(url)).toEqual(expect.any(String))
  })

  test.each([
    ...[
      'https://example.com/hook',
      'https://10.0.0.1/hook',
      'http://127.0.0.1:8080/',
      'http://localhost/',
      'http://[::1]:1/',
    ],
    'https://hooks.slack.com/services/T/B/x',
  ])('%s is allowed', (url) => {
    expect(whyTargetRefused(url)).toBeUndefined()
  })

  test('a name that resolves to such an address, also as one of several, or to elsewhere for http', async () => {
    const receiver = kept(await openReceiver())
    const { port } = new URL(receiver.url)
    const answers = (...addresses: string[]) => ({
      resolve: (_host: string, done: (error: null, found: { address: string; family: number }[]) => void) =>
        done(
          null,
          addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
        ),
    })
    const send = (host: string, ...addresses: string[]) =>
      post({ url: `http://${host}:${port}/`, headers: {}, body: '{}', timeoutMs: 5_000, ...answers(...addresses) })
    const refused = { ok: false, problem: expect.stringContaining('its name resolves to') }
    expect(await send('localhost', '169.254.169.254')).toMatchObject(refused)
    expect(await send('localhost', '127.0.0.1', 'fe80::1')).toMatchObject(refused)
    expect(await send('localhost', '::ffff:169.254.169.254')).toMatchObject(refused)
    expect(await send('localhost', '192.0.2.1')).toMatchObject(refused)
    for (const address of ['169.254.169.254', 'fe80::1', 'fd00:ec2::254']) {
      const request = { url: 'https://hooks.example.com/', headers: {}, body: '{}', timeoutMs: 2_000 }
      expect(await post({ ...request, ...answers(address) })).toMatchObject(refused)
    }
    expect(receiver.received).toEqual([])
    // The connection takes the checked address: the name itself is not resolved again.
    expect(await send('localhost', '127.0.0.1')).toEqual({ ok: true })
    expect(receiver.received).toHaveLength(1)
  })

  test('every address that is no address is refused as well', () => {
    expect(['', 'x', '169.254.1.2', 'fe80::', 'febf::1'].map(isForbiddenAddress)).toEqual([
      true,
      true,
      true,
      true,
      true,
    ])
    expect(['1.1.1.1', '2606:4700::1111'].map(isForbiddenAddress)).toEqual([false, false])
  })

  test.each([
    ['IPv4-compatible', '::169.254.169.254'],
    ['IPv4-mapped', '::ffff:168.63.129.16'],
    ['IPv4-translated', '::ffff:0:169.254.169.254'],
    ['NAT64', '64:ff9b::100.100.100.200'],
    ['local NAT64, /48', '64:ff9b:1:a9fe:a9:fe00::'],
    ['local NAT64, /96', '64:ff9b:1::169.254.169.254'],
    ['Teredo, client', '2001:0:102:304:0:0:5601:5601'],
    ['Teredo, server', '2001:0:a9fe:a9fe::1'],
    ['6to4', '2002:6464:64c8::1'],
    ['with a zone', 'fe80::1%eth0'],
    ['Azure', '168.63.129.16'],
    ['metadata of Google', 'fd20:ce::254'],
  ])('a refused address is refused in its other form: %s', (_, address) => {
    expect(isForbiddenAddress(address)).toBe(true)
  })

  test.each(['::1', '::ffff:127.0.0.1', '::ffff:1.1.1.1', '64:ff9b::1.1.1.1', '64:ff9b:1::1.1.1.1', '2002:101:101::1'])(
    'an allowed address stays allowed in its other form: %s',
    (address) => {
      expect(isForbiddenAddress(address)).toBe(false)
    },
  )
})

describe('a mistake in the configuration is named by its key, without the secret in it', () => {
  const problem = (config: object): string => {
    try {
      loadConfig({ root: '/r', readFile: () => JSON.stringify(config) })
    } catch (error) {
      return (error as Error).message
    }
    throw new Error('it was accepted')
  }
  test.each<[object, RegExp]>([
    [
      { webhooks: { on_escalation: 'http://example.com/T0-hidden' } },
      /webhooks\.on_escalation is not usable; it is not encrypted/,
    ],
    [
      { webhooks: { on_escalation: 'https://169.254.169.254/hidden' } },
      /webhooks\.on_escalation is not usable; its host is a link-local/,
    ],
    [{ webhooks: { on_escalation: 5 } }, /webhooks\.on_escalation is 5; allowed: an https/],
    [{ webhooks: { secret: 'whsec_hidden' } }, /webhooks\.secret is not usable; allowed: whsec_ and 24/],
    [{ webhooks: { style: 'teams' } }, /webhooks\.style is "teams"; allowed: "auto", "slack", "standard"/],
    [{ webhooks: { events: ['all'] } }, /webhooks\.events\[0\] is "all"; allowed: "escalation"/],
    [{ webhooks: { onEscalation: 'x' } }, /unknown key webhooks\.onEscalation\. Did you mean "on_escalation"/],
    [{ notify: { ntfy: 'https://ntfy.sh/' } }, /notify\.ntfy is not usable; allowed: the URL of one ntfy topic/],
    [{ notify: { desktop: 'yes' } }, /notify\.desktop is "yes"; allowed: true or false/],
  ])('%j', (config, expected) => {
    expect(problem(config)).toMatch(expected)
    expect(problem(config)).not.toContain('hidden')
  })
})

test.each([
  ['It failed. Tried: a retry.', 'See the log.', 'Tried: a retry.\n\nSee the log.'],
  ['It failed.', 'See the log.', 'See the log.'],
  ['It failed.', '', ''],
  ['What now?', '', 'What now?'],
])('the text of a question does not repeat its title: %j, %j', (question, details, text) => {
  const data = questionData({ ...{ kind: 'exhausted', happened: 'It failed.', question, details }, choices: [] })
  expect([data.title, data.text]).toEqual(['It failed.', text])
})
