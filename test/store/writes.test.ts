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

const found = files.flatMap((name) => {
  const text = readFileSync(join(source, name), 'utf8')
  return [...text.matchAll(writes)]
    .filter((match) => isWrite(match[0]))
    .map((match) => `${name} ${functionAt(text, match.index)}`)
})

describe('writes of a state', () => {
  it('stand where they are expected and nowhere else', () => {
    expect([...new Set(found)]).toEqual([
      'store/agent.ts registerAgents',
      'store/agent.ts retireAgents',
      'store/agent.ts freeAgent',
      'store/engine.ts registerEngine',
      'store/engine.ts moveEngine',
      'store/escalation.ts openEscalation',
      'store/escalation.ts answerEscalation',
      'store/goal.ts insertGoal',
      'store/goal.ts moveGoal',
      'store/merge.ts enqueueMerge',
      'store/merge.ts moveMerge',
      'store/run.ts finishRun',
      'store/task.ts insertTasks',
      'store/task.ts moveTask',
      'store/task.ts claimTask',
    ])
  })

  it('are looked for in every module of the source', () => {
    expect(files.length).toBeGreaterThan(80)
    expect(found.every((entry) => entry.startsWith('store/'))).toBe(true)
  })

  it('no other folder writes to the store by SQL of its own', () => {
    const speaking = files.filter(
      (name) =>
        !name.startsWith(join('store', '')) &&
        /`\s*(?:insert\s+into|update\s+\w+\s+set|delete\s+from)\b/i.test(readFileSync(join(source, name), 'utf8')),
    )
    expect(speaking).toEqual([])
  })
})
