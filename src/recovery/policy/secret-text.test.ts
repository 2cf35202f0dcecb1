import { describe, expect, it } from 'vitest'
import { findSecrets } from './secret-text.ts'

/** Put together here, so that nothing that looks for tokens finds one in this file. */
const some = (length: number, alphabet = 'aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzC'): string =>
  Array.from({ length }, (_, index) => alphabet[(index * 7 + 3) % alphabet.length]).join('')
const hex = (length: number): string => some(length, '0a1b2c3d4e5f6789')
const begin = ['-----BEGIN RSA PRIV', 'ATE KEY-----'].join('')

const joined = (...parts: string[]): string => parts.join('')

const tokens: [name: string, token: string][] = [
  ['Hugging Face', joined('hf', '_', some(34, 'aBcDeFgHiJkLmNoPqRsTuVwXyZ'))],
  ['Stripe', joined('sk', '_live_', some(24))],
  ['DigitalOcean', joined('dop', '_v1_', hex(64))],
  ['SendGrid', joined('SG', '.', some(22), '.', some(43))],
  ['PyPI', joined('pypi', '-AgEIcHlwaS5vcmc', some(60))],
  ['Google OAuth', joined('ya29', '.', some(60))],
  ['age', joined('AGE-SECRET-', 'KEY-1', some(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L'))],
  ['GitHub', joined('gh', 'p_', some(36))],
  ['fine-grained GitHub', joined('github', '_pat_', some(22), '_', some(59))],
  ['GitLab', joined('glpat', '-', some(20))],
  ['npm', joined('npm', '_', some(36))],
  ['Slack', joined('xoxb', '-1234567890-1234567890-', some(24))],
  ['AWS', joined('AKI', 'A', some(16, 'ABCDEFGH2345678'))],
  ['Google API', joined('AIz', 'a', some(35))],
  ['Anthropic', joined('sk', '-ant-', 'api03-', some(93), 'AA')],
  ['OpenAI', joined('sk', '-proj-', some(48))],
  ['xAI', joined('xai', '-', some(80))],
  ['a private key', `${begin}\n${some(64)}\n`],
  ['a private key in JSON', `${begin}\\n${some(64)}\\n`],
  ['a private key with headers', `${begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n${some(64)}\n`],
  ['a token of .npmrc', joined('//packages.example/:_auth', 'Token=', some(36))],
  ['a Slack webhook', joined('https://hooks.', 'slack.com/services/T0123ABCD/B0123ABCD/', some(24))],
  ['a Discord webhook', joined('https://discord', '.com/api/webhooks/123456789012345678/', some(68))],
  ['Telegram', joined('123456789', ':AA', some(33))],
  ['Twilio', joined('S', 'K', hex(32))],
  ['Azure', joined('AccountName=a;Account', 'Key=', some(86), '==;EndpointSuffix=b')],
  ['Shopify', joined('shp', 'at_', hex(32))],
  ['Linear', joined('lin', '_api_', some(40))],
  ['AWS, its secret part', joined('aws_secret_access', '_key = ', some(40))],
  ['a password', joined('pass', 'word = "', some(16), '"')],
  ['a login in a URL', joined('https://me:', some(20), '@host.acme.io/x')],
  ['a login of .npmrc', joined('//packages.example/:_pass', 'word = "', some(20), '"')],
]

describe('what is found', () => {
  it.each(tokens)('%s', async (_, token) => {
    const found = await findSecrets(`first\nconst text = '${token}'\nlast\n`)
    expect(found.map(({ from }) => from)).toContain(2)
    expect(JSON.stringify(found)).not.toContain(token.slice(-12))
  })

  it.each(tokens)('%s, although a comment disables the check', async (_, token) => {
    expect(await findSecrets(`// secretlint-disable\n${token} // secretlint-disable-line\n`)).not.toEqual([])
  })

  it('names the rule and the lines', async () => {
    const text = `a\n${begin}\n${some(64)}\n${some(64)}\n`
    expect(await findSecrets(text)).toContainEqual({ rule: 'private key', from: 2, to: 3 })
    const stripe = tokens[1]?.[1]
    expect(await findSecrets(`a\n\n${stripe}\n`)).toContainEqual({ rule: 'Stripe key', from: 3, to: 3 })
  })

  it('reports a line once if two rules match', async () => {
    const github = tokens[7]?.[1]
    expect(await findSecrets(`${github}\n`)).toHaveLength(1)
  })

  it('searches beyond the first megabyte, and in lines longer than one chunk', async () => {
    const stripe = tokens[1]?.[1]
    const far = 'a line of text\n'.repeat(100_000)
    expect(await findSecrets(`${far}${stripe}\n`)).toContainEqual({ rule: 'Stripe key', from: 100_001, to: 100_001 })
    for (const before of [65_500, 65_530, 131_060, 200_000])
      expect(
        (await findSecrets(`x\n${'ab, '.repeat(before / 4)}${stripe}; ${'cd, '.repeat(50_000)}\n`))[0],
      ).toMatchObject({
        from: 2,
        to: 2,
      })
  })
})

it.each([
  `if (text.includes('${begin}')) return`,
  `const header = /${begin}/`,
  `ghp_${'x'.repeat(36)}`,
  `sk_live_${'x'.repeat(24)}`,
  'AKIAIOSFODNN7EXAMPLE',
  ['//registry.example/:_auth', 'Token=${NPM_TOKEN}'].join(''),
  ['//registry.example/:_auth', 'Token=<your token here>'].join(''),
  'postgres://postgres:postgres@localhost:5432/app',
  'https://user:pass@example.com/path',
  '<div class="sk-folding-cube-animation-container sk-circle-fade-dot"></div>',
  `"integrity": "sha512-${some(86)}=="`,
  `const sha = '${hex(40)}'`,
  `eyJhbGciOiJIUzI1NiJ9.${some(30)}.${some(43)}`,
  'import { pypi_mirror_of_the_whole_organisation_in_europe } from "x"',
  'Authorization: Bearer ${token}',
  'const hf_model_name_of_the_text_generator = 1',
  'SG.something.else',
  'const login = { password: "password123" }',
  'password = "correct-horse-battery-staple"',
  'password: "${DB_PASSWORD_OF_ORDER66x}"',
])('%s is none', async (line) => {
  expect(await findSecrets(`${line}\n`)).toEqual([])
})

it.each([
  '\n',
  '\t\n',
  ' ',
  'a:',
  '://a:',
  `${begin}\n`,
  'Proc-Type: a\n',
  'eyJ',
  'SG.a',
  'aws',
  '"',
  '//',
  '_auth=',
  'password="aB1',
  'secret_key=a',
])('repeating %j over a megabyte takes no more than linear time', async (piece) => {
  const timeOf = async (bytes: number): Promise<number> => {
    const text = piece.repeat(Math.ceil(bytes / piece.length))
    const begun = performance.now()
    await findSecrets(text)
    return performance.now() - begun
  }
  await timeOf(1 << 14)
  // Quadratic time would be 4096 times the time of a sixty-fourth.
  expect(await timeOf(1 << 20)).toBeLessThan(64 * 20 * Math.max(2, await timeOf(1 << 14)))
})
