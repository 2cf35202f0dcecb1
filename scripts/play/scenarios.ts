/** What `npm run play` shows: one task each, with the fault of its scripted agent and how the task ends. Pure. */
import type { Edit } from '../../sim/agents/scripted-work.ts'

export interface Scenario {
  title: string
  /** What goes wrong, for the list at the start. */
  fault: string
  /** The state in which the task ends, if the engine recovers as it should. */
  ends: 'done' | 'question'
  driver: 'command' | 'claude'
  /** A program of `sim/agents`. */
  agent: 'steady' | 'hasty' | 'hang' | 'failing' | 'overloaded'
  /** The fault happens at each launch; absent = only at the first one. */
  always?: true
  /** What the agent does before its fault is over, where that is not nothing. */
  first?: Edit[]
  edits: Edit[]
}

const converter = (name: string, file: string, factor: string): Edit => ({
  path: `src/${file}.js`,
  after: `export const ${name} = (value) => value * ${factor}\n`,
})

const converterTest = (name: string, file: string, wanted: string): Edit => ({
  path: `test/${file}.test.js`,
  after: `import assert from 'node:assert/strict'
import test from 'node:test'
import { ${name} } from '../src/${file}.js'

test('${name}', () => assert.ok(Math.abs(${name}(1) - ${wanted}) < 1e-9))
`,
})

const work = (name: string, file: string, factor: string): Edit[] => [
  converter(name, file, factor),
  converterTest(name, file, factor),
]

export const scenarios: readonly Scenario[] = [
  {
    ...{ title: 'Convert pounds to kilograms', fault: 'none: the agent does its work', ends: 'done' },
    ...{ driver: 'command', agent: 'steady', edits: work('poundsToKilograms', 'weight', '0.45359237') },
  },
  {
    ...{ title: 'Convert acres to hectares', fault: 'the first attempt leaves its test red', ends: 'done' },
    ...{ driver: 'claude', agent: 'hasty', edits: work('acresToHectares', 'area', '0.40468564224') },
    first: [converter('acresToHectares', 'area', '0.4'), converterTest('acresToHectares', 'area', '0.40468564224')],
  },
  {
    ...{ title: 'Convert gallons to litres', fault: 'the agent hangs: no output, no CPU', ends: 'done' },
    ...{ driver: 'claude', agent: 'hang', edits: work('gallonsToLitres', 'volume', '3.785411784') },
  },
  {
    ...{ title: 'Convert knots to metres per second', fault: 'the agent exits with 1, once', ends: 'done' },
    ...{ driver: 'claude', agent: 'failing', edits: work('knotsToMetresPerSecond', 'speed', '0.514444') },
  },
  {
    ...{ title: 'Convert calories to joules', fault: 'the model server responds with 503', ends: 'done' },
    ...{ driver: 'claude', agent: 'overloaded', edits: work('caloriesToJoules', 'energy', '4.184') },
  },
  {
    ...{ title: 'Convert bars to pascals', fault: 'the agent exits with 1 each time', ends: 'question' },
    ...{ driver: 'claude', agent: 'failing', always: true, edits: [] },
  },
]
