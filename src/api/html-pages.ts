/**
 * Plain pages that are shown when the dashboard cannot be. Their style and their one script are allowed by hash in the content
 * policy; every value is escaped.
 */
import { createHash } from 'node:crypto'

const style =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}code,pre{font-family:monospace}pre{white-space:pre-wrap;overflow-wrap:anywhere}button{font:inherit;padding:.5rem 1rem;min-height:2.75rem}'

/** A script, because a refresh by markup does not reload an address with a login after its `#`. */
const reload = 'setTimeout(() => location.reload(), 1000)'

export const hashSource = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

const allowed = {
  /** JSON: it may load nothing. */
  data: '',
  page: ` style-src ${hashSource(style)};`,
  /** Its buttons send a form to its own address. */
  answer: ` style-src ${hashSource(style)};`,
  building: ` style-src ${hashSource(style)}; script-src ${hashSource(reload)};`,
  /** No inline script or style and no foreign address. Trusted types stop text from becoming markup even through a bug. */
  app: " script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none';",
}

export const contentPolicy = (kind: keyof typeof allowed): string =>
  `default-src 'none';${allowed[kind]} base-uri 'none'; form-action ${kind === 'answer' ? "'self'" : "'none'"}; frame-ancestors 'none'`

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
export const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (found) => entities[found] ?? '')

export const pageOf = (title: string, body: string): string =>
  `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(title)}</title><style>${style}</style></head>
<body>
<h1>${escaped(title)}</h1>
${body}
</body>
</html>
`

export const refusedPage = (code: string, message: string): string =>
  pageOf(
    'Unstuck: not logged in',
    `<p>${escaped(code)}: ${escaped(message)}.</p><p>To get a new address, run <code>unstuck login-url</code> in the repository. The address works once, within ten minutes.</p>`,
  )

const meanwhile =
  '<p>In the meantime, in a terminal in the repository: <code>unstuck status</code> or <code>unstuck events -f</code>.</p>'

export const buildingPage = (): string =>
  pageOf(
    'Unstuck: one moment',
    `<p role="status">The dashboard of this checkout is being built. This page reloads by itself.</p>${meanwhile}<script>${reload}</script>`,
  )

export const failedPage = (): string =>
  pageOf(
    'Unstuck: the dashboard could not be built',
    `<p>The reason is in <code>engine.log</code> of the state folder.</p><p><a href="/">Try again</a></p>${meanwhile}`,
  )

export const missingPage = (path: string): string =>
  pageOf(
    'Unstuck: no such page',
    `<p>There is no page at <code>${escaped(path)}</code>.</p><p><a href="/">Back to the dashboard</a></p>`,
  )
