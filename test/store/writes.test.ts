/** Each write of a state stands in src/store, once per move, so that no second place can disagree with the flow tables. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const source = fileURLToPath(new URL('../../src', import.meta.url))

const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .sort()

/** `update … set … state =` and `insert into … (… state …)`, over line ends, as far as the statement's template goes. */
const writes = /\bupdate\s+\w+\s+set\s[^`]*?\bstate\s*=|\binsert\s+into\s+\w+\s*\([^)`]*\bstate\b/gi

const functionAt = (text: string, offset: number): string =>
  [...text.slice(0, offset).matchAll(/^(?:export )?const (\w+) = /gm)].at(-1)?.[1] ?? '?'

/** What follows `from` or `where` reads a state, it does not write one. */
const isWrite = (statement: string): boolean => !/\b(?:from|where)\b/i.test(statement)

/** The tag of statements, a call with a statement, or the text of one. */
const isSql = new RegExp(
  [
    /\bsql\b[^}]*\}\s*from\s*'[^']*\bstore\/db\.ts'/,
    /\b(?:db|tx)\.(?:query|script)\(/,
    /[`'"]\s*(?:select\b[^`]*?\bfrom|insert\s+into|update\s+\w+\s+set|delete\s+from)\s/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
)
const sqlSamples = [
  `import { one, sql, type Db } from '../../store/db.ts'`,
  'context.db.query(statement)',
  'text: `\n  select count(*)\n  from run`',
  'const text = `delete from lease`',
]

const found = files.flatMap((name) => {
  const text = readFileSync(join(source, name), 'utf8')
  return [...text.matchAll(writes)]
    .filter((match) => isWrite(match[0]))
    .map((match) => `${name} ${functionAt(text, match.index)}`)
})

/** More of them than this, and a state has a second way that must be kept like the first. */
const most = 20

describe('writes of a state', () => {
  it('stand where they are expected and nowhere else', () => {
    expect(found).toEqual([
      'store/claim.ts takeStatement',
      'store/claim.ts takeStatement',
      'store/engine.ts registerEngine',
      'store/engine.ts moveEngine',
      'store/escalation.ts openEscalation',
      'store/escalation.ts answerEscalation',
      'store/goal.ts insertGoal',
      'store/goal.ts moveGoal',
      'store/hatch.ts change',
      'store/judgement.ts insertJudgement',
      'store/judgement.ts moveJudgement',
      'store/merge.ts enqueueMerge',
      'store/merge.ts moveMerge',
      'store/recovery-proposal.ts insertProposal',
      'store/recovery-proposal.ts moveProposal',
      'store/recovery-proposal.ts insertExecution',
      'store/recovery-proposal.ts finishExecution',
      'store/run.ts finishRun',
      'store/task.ts insertTasks',
      'store/task.ts moveTask',
    ])
    expect(found.length).toBeLessThanOrEqual(most)
  })

  it('are looked for in every module of the source', () => {
    expect(files.length).toBeGreaterThan(80)
    expect(found.every((entry) => entry.startsWith('store/'))).toBe(true)
  })

  it('no other folder speaks SQL, neither to read nor to write', () => {
    const speaking = files.filter(
      (name) => !name.startsWith(join('store', '')) && isSql.test(readFileSync(join(source, name), 'utf8')),
    )
    expect(speaking).toEqual([])
    for (const text of sqlSamples) expect(text).toMatch(isSql)
  })
})
