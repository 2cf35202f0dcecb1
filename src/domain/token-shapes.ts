/**
 * Patterns of secret tokens, used to redact output and to keep tokens out of commits. Every pattern takes linear time on
 * hostile input: a match starts only at the start of a run of characters, and lookaheads are bounded.
 */

export interface TokenShape {
  name: string
  /** A cheap test first: a text without the `hint` has no such token. */
  hint: string
  body: string
  /** Replaces `body` for files, where ordinary code also matches `body`; null = the pattern is too vague for files. */
  inFiles?: string | null
}

/** The name in any case, as `password`, `PASSWORD` or `Password`. */
const anyCase = (name: string): string => name.replace(/[a-z]/g, (letter) => `[${letter.toUpperCase()}${letter}]`)

/** In JSON inside of JSON a quote is escaped. */
const quote = String.raw`\\?["']`
const between = String.raw`(?:${quote})?[ \t]{0,4}(?:=>|:=|[=:])[ \t]{0,4}`

/** Only the value is the match, so that the name stays and a line of JSON stays valid. */
const valueOf = (name: string, value: string, opening = `(?:${quote})?`): string =>
  `(?<=${name}${between}${opening})${value}`

const awsSecret = '[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=])'
const inQuotes = String.raw`[^"'\\\s]`
const passwordName = anyCase('password')
/** Without a digit or sign it is a word, such as the name of a field. */
const password = String.raw`(?=${inQuotes}{0,64}[^A-Za-z"'\\\s])${inQuotes}{8,256}(?=${quote})`
/** In code, plain passwords are those of tests and examples; one that was made at random has all three kinds. */
const randomPassword = String.raw`(?=${inQuotes}{0,64}[0-9])(?=${inQuotes}{0,64}[A-Z])(?=${inQuotes}{0,64}[a-z])(?:(?![$<{])${inQuotes}){12,256}(?=${quote})`

export const tokenShapes: readonly TokenShape[] = [
  {
    // Before the key itself, which would be gone.
    name: 'AWS secret key',
    hint: 'A[KS]IA',
    body: String.raw`(?<=(?:AKIA|ASIA)[A-Z0-9]{16}(?:${quote})?[ \t]{0,4}[,:;| \t][ \t]{0,4}(?:${quote})?)${awsSecret}`,
  },
  {
    name: 'AWS secret key',
    hint: anyCase('secret'),
    body: valueOf(`${anyCase('secret')}_?(?:${anyCase('access')}_?)?${anyCase('key')}`, awsSecret),
  },
  {
    name: 'Slack webhook',
    hint: String.raw`hooks\.slack`,
    body: String.raw`https://hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}`,
  },
  {
    name: 'Discord webhook',
    hint: String.raw`discord(?:app)?\.com/api`,
    body: String.raw`https://(?:[a-z]{2,8}\.)?discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{15,22}/[A-Za-z0-9_-]{40,}`,
  },
  { name: 'Telegram token', hint: ':AA', body: '(?:bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{33}' },
  { name: 'Twilio key', hint: 'SK[0-9a-f]{8}', body: 'SK[0-9a-f]{32}(?![0-9A-Za-z])' },
  {
    name: 'Twilio token',
    hint: anyCase('twilio'),
    body: valueOf(`${anyCase('twilio')}_?${anyCase('auth')}_?${anyCase('token')}`, '[0-9a-f]{32}(?![0-9A-Za-z])'),
  },
  {
    name: 'Azure key',
    hint: 'Acc(?:ount|ess)Key=',
    body: '(?<=(?:AccountKey|SharedAccessKey)=)[A-Za-z0-9+/]{43,86}={1,2}',
  },
  // secretlint, which searches files, knows both.
  { name: 'Shopify token', hint: 'shp(?:at|ca|pa|ss)_', body: 'shp(?:at|ca|pa|ss)_[A-Za-z0-9]{32,64}', inFiles: null },
  { name: 'Linear key', hint: 'lin_api_', body: 'lin_api_[A-Za-z0-9_]{32,128}', inFiles: null },
  {
    name: 'password',
    hint: passwordName,
    body: valueOf(passwordName, password, quote),
    inFiles: valueOf(passwordName, randomPassword, quote),
  },
  {
    name: 'API key',
    hint: 'sk-',
    body: 'sk-[A-Za-z0-9_-]{20,}',
    inFiles: 'sk-(?:[a-z0-9]{2,8}-){0,2}(?=[A-Za-z_-]{0,64}[0-9])[A-Za-z0-9]{24,}',
  },
  { name: 'GitHub token', hint: 'gh[pousr]_', body: 'gh[pousr]_[A-Za-z0-9]{20,}' },
  { name: 'GitHub token', hint: 'github_pat_', body: 'github_pat_[A-Za-z0-9_]{20,}' },
  { name: 'GitLab token', hint: 'glpat-', body: 'glpat-[A-Za-z0-9_-]{20,}' },
  { name: 'npm token', hint: 'npm_', body: 'npm_[A-Za-z0-9]{36}' },
  {
    name: 'npm login',
    hint: ':_(?:auth|password)',
    body: ':_(?:authToken|password|auth)[ \\t]{0,4}=[ \\t]{0,4}"?(?=[A-Za-z+/_-]{0,64}[0-9=])[A-Za-z0-9+/=_.-]{16,}',
  },
  { name: 'PyPI token', hint: 'pypi-', body: 'pypi-(?=[A-Za-z_-]{0,64}[0-9])[A-Za-z0-9_-]{40,}' },
  { name: 'Slack token', hint: 'xox[a-z]-', body: 'xox[a-z]-[A-Za-z0-9-]{10,}' },
  { name: 'Stripe key', hint: '[rs]k_live_', body: '[rs]k_live_[A-Za-z0-9]{16,}' },
  { name: 'SendGrid key', hint: 'SG\\.', body: 'SG\\.[A-Za-z0-9_-]{16,}\\.[A-Za-z0-9_-]{32,}' },
  { name: 'DigitalOcean token', hint: 'do[opr]_v1_', body: 'do[opr]_v1_[a-f0-9]{40,}' },
  { name: 'Hugging Face token', hint: 'hf_', body: 'hf_[A-Za-z0-9]{30,}' },
  { name: 'xAI key', hint: 'xai-', body: 'xai-[A-Za-z0-9]{60,}' },
  { name: 'AWS key', hint: 'A[KS]IA', body: '(?:AKIA|ASIA)[A-Z0-9]{16}' },
  { name: 'Google key', hint: 'AIza', body: 'AIza[A-Za-z0-9_-]{35}' },
  { name: 'Google token', hint: 'ya29\\.', body: 'ya29\\.[A-Za-z0-9_-]{30,}' },
  { name: 'age key', hint: 'AGE-SECRET-KEY-', body: 'AGE-SECRET-KEY-1[0-9A-Z]{50,}' },
  {
    name: 'JSON web token',
    hint: 'eyJ',
    body: 'eyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}(?:\\.[A-Za-z0-9_-]*)?',
    inFiles: null,
  },
]

// A token may follow a JSON escape or a colour code, whose last letter would otherwise look like part of it.
const start = String.raw`(?<=^|[^A-Za-z0-9_-]|\\[nrtbf]|\\u[0-9a-fA-F]{4}|\[[0-9;]{0,8}m)`

export const tokenPattern = (body: string): RegExp => new RegExp(start + body, 'gm')

const marker = (word: string): string => `-----${word} [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----`
export const keyBegin = marker('BEGIN')
export const keyEnd = marker('END')

/** Names of variables and options whose value is a secret. AUTHOR is none: its value is a person's name, which stands everywhere. */
export const secretName = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH(?!OR(?!I))/i
