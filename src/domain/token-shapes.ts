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

export const tokenShapes: readonly TokenShape[] = [
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
