/** The list of event types and the events that the source writes are one set. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { agentDerivation } from '../src/domain/agent.ts'
import { flows } from '../src/domain/flows.ts'
import { eventTypes, sentenceOf } from '../src/runtime/people/event-sentences.ts'

const source = fileURLToPath(new URL('../src', import.meta.url))

interface Written {
  place: string
  /** The literal type, or the expression that gives it. */
  type: string
  literal: boolean
}

const type = String.raw`\{\s*type:\s*(?:'([^']+)'|([^;}]*?\.event)\b)`

/**
 * `appendEvent(<db>, { …, type: <this>`: the type stands in the same object, before any other closing bracket. The event of `recording` is its
 * second argument, or stands above it as `const event`.
 */
const forms = [
  { call: /\bappendEvent\(/g, whole: new RegExp(String.raw`\bappendEvent\(\s*[\w.]+,\s*${type}`, 'g') },
  { call: /\brecording\(/g, whole: new RegExp(String.raw`(?:\brecording\(\s*\w+,|\bconst event =)\s*${type}`, 'g') },
]

const written: Written[] = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .flatMap((name) => {
    const text = readFileSync(join(source, name), 'utf8')
    return forms.flatMap(({ call, whole }) => {
      const count = [...text.matchAll(call)].length
      const found = count === 0 ? [] : [...text.matchAll(whole)]
      // A call in another form would be overlooked; better a failing test that says where.
      if (found.length !== count) throw new Error(`${name}: ${count} of ${call}, ${found.length} understood`)
      return found.map((match) => ({ place: name, type: match[1] ?? match[2] ?? '', literal: match[1] !== undefined }))
    })
  })

const literals = new Set(written.filter((entry) => entry.literal).map((entry) => entry.type))
const ofFlows = new Set(flows.flatMap((flow) => flow.rows.map((row) => row.event)))
const ofAgents = agentDerivation.flatMap((row) => row.events)

describe('events', () => {
  it('are written with a literal type or with the event of a flow row', () => {
    const computed = written.filter((entry) => !entry.literal).map((entry) => entry.type)
    expect(computed.length).toBeGreaterThan(0)
    for (const type of computed) expect(type).toMatch(/\.event$/)
  })

  it('that the source can write are all listed', () => {
    const unlisted = [...literals, ...ofFlows, ...ofAgents].filter((type) => !Object.hasOwn(eventTypes, type))
    expect(unlisted).toEqual([])
  })

  it('that are listed are all written somewhere', () => {
    const unwritten = Object.keys(eventTypes).filter((type) => !literals.has(type) && !ofFlows.has(type))
    expect(unwritten).toEqual([])
  })

  it('each have a meaning and a sentence that survives an empty payload', () => {
    for (const [type, { meaning, sentence }] of Object.entries(eventTypes)) {
      expect(meaning, type).not.toBe('')
      expect(typeof sentence({}), type).toBe('string')
    }
    const unknown = { id: 1, at: new Date(0), type: 'new.type', goalId: null, taskId: null, runId: null, payload: {} }
    expect(sentenceOf(unknown)).toBe('new.type')
  })
})
