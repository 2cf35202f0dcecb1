/** The report of a goal: one row for each task, and the same as a page that can be sent to somebody who has no dashboard. Pure. */
import { readableTitle, type Run } from '../../src/api/contract.ts'
import type { BoardGoal } from './board.ts'
import { spanText } from './clock.ts'
import { moneyText, plural, tokensText, visible, words } from './text.ts'

export interface ReportRow {
  id: string
  number: number
  title: string
  status: string
  /** What its checks proved, or why it waits. */
  result: string
  runs: number
  recoveries: number
  tokens: number
  costUsd: number
}

export const reportRows = (goal: BoardGoal, runs: readonly Run[]): ReportRow[] =>
  goal.tasks.map((task) => {
    const own = runs.filter(({ taskId }) => taskId === task.id)
    return {
      ...{ id: task.id, number: task.number, title: readableTitle(task.title), recoveries: task.recoveries },
      status: words(task.status).replace('(', ': ').replace(')', ''),
      result: task.status === 'done' ? (task.run?.proof ?? '') : (task.nextStep?.text ?? ''),
      runs: own.length,
      tokens: own.reduce((sum, { spend }) => sum + spend.tokens, 0),
      costUsd: own.reduce((sum, { spend }) => sum + spend.costUsd, 0),
    }
  })

/** How much of its budget a goal has used. `share` is absent where it has no limit. */
export interface BudgetUse {
  name: string
  text: string
  share: number | undefined
}

export const spentOf = ({ spend, limits }: Pick<BoardGoal, 'spend' | 'limits'>): BudgetUse[] => {
  const row = (name: string, value: number, limit: number | undefined, text: (value: number) => string): BudgetUse => {
    const limited = limit !== undefined && limit > 0
    return {
      name,
      text: `${text(value)}${limited ? ` of ${text(limit)}` : ''}`,
      share: limited ? value / limit : undefined,
    }
  }
  const time = (seconds: number): string => spanText(seconds * 1000)
  return [
    row('Tokens', spend.tokens, limits.goalTokens, (value) => tokensText(value).replace(/ tokens?$/, '')),
    row('Money', spend.costUsd, limits.goalCostUsd, moneyText),
    row('Agent time', spend.seconds, limits.goalSeconds, time),
  ]
}

const marks: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

const escaped = (text: string): string => visible(text).replaceAll(/[&<>"']/g, (mark) => marks[mark] ?? '')

const style =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.4rem .6rem;border-bottom:1px solid #8884;vertical-align:top}td.n,th.n{text-align:right}'

const rowHtml = ({ number, title, status, result, runs, recoveries, tokens, costUsd }: ReportRow): string =>
  `<tr><td class="n">${number}</td><td>${escaped(title)}</td><td>${escaped(status)}</td><td>${escaped(result)}</td><td class="n">${runs}</td><td class="n">${recoveries}</td><td class="n">${tokens.toLocaleString('en')}</td><td class="n">${moneyText(costUsd)}</td></tr>`

const headings = ['#', 'Task', 'State', 'Result', 'Runs', 'Recoveries', 'Tokens', 'Money']

/** A whole page without a script: every text is escaped, and control characters are visible. `at` = when it was made. */
export const reportHtml = (goal: BoardGoal, rows: readonly ReportRow[], at: string): string => {
  const done = rows.filter(({ status }) => status === 'done').length
  const spent = spentOf(goal).map(({ name, text }) => `${name.toLowerCase()} ${text}`)
  const facts = [`${done} of ${plural(rows.length, 'task')} done`, ...spent, `state ${words(goal.state)}`]
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"><title>${escaped(goal.title)}</title><style>${style}</style></head>
<body>
<h1>${escaped(goal.title)}</h1>
<p>${facts.map(escaped).join(' · ')}</p>
${goal.reason === '' ? '' : `<p>${escaped(goal.reason)}</p>`}
<table>
<thead><tr>${headings.map((name, index) => `<th${index === 0 || index > 3 ? ' class="n"' : ''}>${name}</th>`).join('')}</tr></thead>
<tbody>
${rows.map(rowHtml).join('\n')}
</tbody>
</table>
<p>Branch ${escaped(goal.branch)}, made by Unstuck on ${escaped(at)}.</p>
</body>
</html>
`
}
