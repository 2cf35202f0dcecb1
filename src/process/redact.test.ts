import { homedir } from 'node:os'
import { describe, expect, test } from 'vitest'
import { createRedactor, secretValues } from './redact.ts'

const clean = (text: string, secrets: string[] = []): string =>
  createRedactor(secrets)(Buffer.from(text)).toString('utf8')

describe('values of the environment', () => {
  test.each(['API_KEY', 'token', 'MY_SECRET', 'PGPASSWORD', 'DB_PASS', 'CREDENTIALS', 'PROXY_AUTHORIZATION'])(
    'of %s are secret',
    (name) => expect(secretValues({ [name]: 'hunter2hunter2' })).toContain('hunter2hunter2'),
  )

  test('that are short, harmlessly named or existing paths are not', () => {
    const values = {
      API_KEY: 'short',
      GIT_AUTHOR_NAME: 'Jane Doe-Smith',
      SSH_AUTH_SOCK: homedir(),
      PATH: '/usr/bin:/bin',
    }
    expect(secretValues(values)).toEqual([])
  })

  test('are found in JSON and URL spelling, line by line, and in any encoding', () => {
    const secrets = secretValues({ A_KEY: 'first-part\nsecond-part', B_KEY: 'grün & "blau"' })
    expect(clean('first-part\n', secrets)).toBe('[redacted]\n')
    expect(clean('x second-part y\n', secrets)).toBe('x [redacted] y\n')
    expect(clean(`${JSON.stringify({ a: 'grün & "blau"' })}\n`, secrets)).toBe('{"a":"[redacted]"}\n')
    expect(clean(`?q=${encodeURIComponent('grün & "blau"')}\n`, secrets)).toBe('?q=[redacted]\n')
  })

  test('of which one contains the other leave no rest', () => {
    const secrets = secretValues({ A_KEY: 'aaaabbbb', B_KEY: 'aaaabbbbcccc' })
    expect(clean('aaaabbbbcccc\n', secrets)).toBe('[redacted]\n')
  })
})

const jwt = `eyJ${'hbGciOiJ'.repeat(3)}.eyJ${'zdWIiOiI'.repeat(3)}.${'s1gN-_'.repeat(4)}`

describe('token shapes', () => {
  test.each([
    `sk-ant-api03-${'aB3_'.repeat(8)}`,
    `ghp_${'aB3d'.repeat(9)}`,
    `github_pat_${'aB3_'.repeat(8)}`,
    'xoxb-1234567890-abcdef',
    'AKIAIOSFODNN7EXAMPLE',
    `hf_${'aBcD'.repeat(9)}`,
    `sk_live_${'aB3d'.repeat(6)}`,
    `dop_v1_${'0a1b'.repeat(16)}`,
    `SG.${'aB3d'.repeat(6)}.${'aB3d'.repeat(11)}`,
    `pypi-AgEI${'aB3d'.repeat(15)}`,
    `ya29.${'aB3d'.repeat(15)}`,
    `AGE-SECRET-KEY-1${'QPZ3'.repeat(14)}QQ`,
    `xai-${'aB3d'.repeat(20)}`,
    jwt,
    ['https://hooks.', 'slack.com/services/T0123ABCD/B0123ABCD/', 'aB3d'.repeat(6)].join(''),
    ['https://discord', '.com/api/webhooks/123456789012345678/', 'aB3_'.repeat(17)].join(''),
    ['123456789', ':AA', 'aB3'.repeat(11)].join(''),
    ['S', 'K', '0a1b'.repeat(8)].join(''),
    ['shp', 'at_', '0a1b'.repeat(8)].join(''),
    ['lin', '_api_', 'aB3d'.repeat(10)].join(''),
  ])('%s is removed wherever it stands', (token) => {
    expect(clean(`${token}\n`)).toBe('[redacted]\n')
    expect(clean(`a=${token}, b\n`)).toBe('a=[redacted], b\n')
    expect(clean(`${JSON.stringify({ text: `one\n${token}\ntwo` })}\n`)).toBe('{"text":"one\\n[redacted]\\ntwo"}\n')
    expect(clean(`\u001b[32m${token}\u001b[0m\n`)).toBe('\u001b[32m[redacted]\u001b[0m\n')
  })

  test.each([
    ['password', 'hunter2-hunter2'],
    ['DB_PASSWORD', 'correct.horse.battery'],
    ['aws_secret_access_key', 'aB3d'.repeat(10)],
    ['TWILIO_AUTH_TOKEN', '0a1b'.repeat(8)],
  ])('beside the name %s go, and name, quotes and JSON stay', (name, secret) => {
    expect(clean(`${name} = "${secret}"\n`)).toBe(`${name} = "[redacted]"\n`)
    const line = JSON.stringify({ [name]: secret, text: `${name}: '${secret}', ${JSON.stringify({ [name]: secret })}` })
    expect(JSON.parse(clean(`${line}\n`))).toEqual({
      [name]: '[redacted]',
      text: `${name}: '[redacted]', ${JSON.stringify({ [name]: '[redacted]' })}`,
    })
  })

  test('of AWS beside its access key and of Azure in a connection string go', () => {
    const [aws, azure] = ['aB3d'.repeat(10), `${'aB3d'.repeat(21)}aB==`]
    expect(clean(`AKIAIOSFODNN7EXAMPLE,${aws}\n`)).not.toContain(aws)
    expect(clean(`AccountName=a;AccountKey=${azure};EndpointSuffix=b\n`)).toBe(
      'AccountName=a;AccountKey=[redacted];EndpointSuffix=b\n',
    )
  })

  test('in an authorization header or in a URL go, the rest stays', () => {
    expect(clean('Authorization: Bearer abc123DEF456ghi789\n')).toBe('Authorization: Bearer [redacted]\n')
    expect(clean('git clone https://me:s3cret@host/x.git\n')).toBe('git clone https://me:[redacted]@host/x.git\n')
  })

  test.each([
    'task-list-of-things-to-do-today',
    'http://localhost:3000/@scope/name',
    'bearer of bad news',
    'risk-management-committee',
    'password: "required"',
    'the password = of the user',
    'secretKey = aKeyOfTheTable',
  ])('leave "%s" alone', (text) => expect(clean(`${text}\n`)).toBe(`${text}\n`))
})

describe('a private key', () => {
  const begin = '-----BEGIN RSA PRIVATE KEY-----'
  const end = '-----END RSA PRIVATE KEY-----'

  test('goes line by line, over blocks, and what follows stays', () => {
    const redact = createRedactor([])
    const blocks = [`before\n${begin}\nMIIEow\n`, 'IBAAKC+/=\n', `Ab==\n${end}\nafter\n`]
    const text = blocks.map((block) => redact(Buffer.from(block)).toString()).join('')
    expect(text).toBe('before\n[redacted]\n[redacted]\n[redacted]\n[redacted]\n[redacted]\nafter\n')
  })

  test('inside a JSON line goes and leaves the line valid', () => {
    const line = JSON.stringify({ key: `${begin}\nMIIE\n${end}\n`, next: 1 })
    expect(JSON.parse(clean(`${line}\n`))).toEqual({ key: '[redacted]\n', next: 1 })
    const cut = JSON.stringify({ key: `${begin}\nMIIE`, next: 1 })
    expect(JSON.parse(clean(`${cut}\n`))).toEqual({ key: '[redacted]', next: 1 })
  })

  test('that never ends hides no ordinary lines', () => {
    expect(clean(`${begin}\nMIIE\nthis is a log line\n`)).toBe('[redacted]\n[redacted]\nthis is a log line\n')
  })
})

describe('hostile text', () => {
  test.each([
    'eyJ-',
    'sk-',
    'eyJaaaaaaaaa.',
    'Bearer ',
    '://a:',
    '-----BEGIN PRIVATE KEY-----',
    'ghp_',
    'SG.a',
    'pypi-a',
    'AGE-SECRET-KEY-1',
    ':_auth=',
    'xoxb-',
    'password="',
    'password="a1',
    'secret_key=aaaa',
    'AKIAIOSFODNN7EXAMPLE ',
    'AccountKey=',
    'https://hooks.slack.com/services/',
    '12345678:AA',
    '\\nsk-a',
    '[0;m',
  ])('repeating "%s" over a megabyte takes no more than linear time', (piece) => {
    const timeOf = (bytes: number): number => {
      const text = Buffer.from(`${piece.repeat(Math.ceil(bytes / piece.length))}\n`)
      const begun = performance.now()
      createRedactor([])(text)
      return performance.now() - begun
    }
    timeOf(1 << 14)
    // Quadratic time would be 4096 times the time of a sixty-fourth, and minutes in all.
    expect(timeOf(1 << 20)).toBeLessThan(64 * 20 * Math.max(1, timeOf(1 << 14)))
  })
})
