/**
 * The six tasks of the demo as data: the instructions, how each task fails, what must be observed for it to count as
 * recovered, and the edits that its agent makes. Pure.
 */
import type { Edit } from '../../../sim/agents/scripted-work.ts'

/** What the events must show: the success of a playbook, a re-attached agent, or a second verification after a rebase. */
export type Cure = { kind: 'playbook'; playbook: string } | { kind: 'reattached' } | { kind: 'rebased' }

export interface Chapter {
  number: number
  place: 'repository' | 'folder'
  title: string
  instructions: string
  /** How the task fails, in a few words for the list at the start. */
  fault: string
  cure: Cure
  agent: 'steady' | 'overloaded' | 'fenced' | 'untrusting'
  /** Signal files: the agent creates `began` at its start and waits for `until` in the middle of its work. */
  began?: string
  until?: string
  commands?: string[]
  priority: number
  edits: Edit[]
}

/** Runs all tests in one process: a process per file would take most of the demo's time. */
export const checkCommand = 'node test/all.js'
export const missingCommand = 'npm run lint'

/** Names of the signal files with which the demo and its agents wait for each other. */
export const signalFiles = {
  victimBegan: 'victim-began',
  victimGo: 'victim-go',
  secondBegan: 'second-began',
  secondGo: 'second-go',
}

const unitTest = (name: string, file: string, [given, wanted]: [number, number]): Edit => ({
  path: `test/${name}.test.js`,
  after: `import assert from 'node:assert/strict'
import test from 'node:test'
import { ${name} } from '../src/${file}.js'

test('${name}', () => assert.ok(Math.abs(${name}(${given}) - ${wanted}) < 1e-9))
`,
})

const milesLine = 'export const milesToKilometres = (miles) => miles * 1.609344\n'
const inchesLine = 'export const inchesToCentimetres = (inches) => inches * 2.54\n'

/** The files of the repository before the work. */
export const repositoryFiles: Edit[] = [
  {
    path: 'package.json',
    after: `${JSON.stringify({ name: 'conversions', version: '1.0.0', private: true, type: 'module', scripts: { test: checkCommand } }, null, 2)}\n`,
  },
  { path: 'README.md', after: '# conversions\n\nSmall functions that convert units.\n' },
  {
    path: 'src/length.js',
    after: `// Lengths.\n\n${milesLine}\nexport const feetToMetres = (feet) => feet * 0.3048\n\n${inchesLine}`,
  },
  {
    path: 'src/temperature.js',
    after: '// Temperatures.\n\nexport const celsiusToFahrenheit = (celsius) => (celsius * 9) / 5 + 32\n',
  },
  {
    path: 'test/all.js',
    after: `import { readdirSync } from 'node:fs'

const here = new URL('./', import.meta.url)
for (const name of readdirSync(here)) if (name.endsWith('.test.js')) await import(new URL(name, here))
`,
  },
  unitTest('milesToKilometres', 'length', [1, 1.609344]),
  unitTest('celsiusToFahrenheit', 'temperature', [100, 212]),
]

/** The files of the plain folder before the work: the total says 5, but the entries add up to 6. */
export const folderFiles: Edit[] = [
  { path: 'list.json', after: `${JSON.stringify({ eggs: 2, apples: 4, total: 5 })}\n` },
  {
    path: 'check.mjs',
    after: `import { readFileSync } from 'node:fs'
const { total, ...items } = JSON.parse(readFileSync('list.json', 'utf8'))
process.exitCode = Object.values(items).reduce((sum, count) => sum + count, 0) === total ? 0 : 1
`,
  },
]

const missingScript: Chapter = {
  number: 1,
  place: 'repository',
  title: 'Convert yards to metres',
  instructions: 'Add yardsToMetres to src/length.js, with a test.',
  fault: 'one of its two checks calls a script that does not exist',
  cure: { kind: 'playbook', playbook: 'missing-script-drop' },
  agent: 'steady',
  // Tasks 1 and 5 must start from the same commit, so task 1 waits until task 5 has started.
  until: signalFiles.secondBegan,
  commands: [missingCommand, checkCommand],
  priority: 8,
  edits: [
    {
      path: 'src/length.js',
      before: milesLine,
      after: `${milesLine}export const yardsToMetres = (yards) => yards * 0.9144\n`,
    },
    unitTest('yardsToMetres', 'length', [10, 9.144]),
  ],
}

const transient: Chapter = {
  number: 2,
  place: 'repository',
  title: 'Convert Fahrenheit to Celsius',
  instructions: 'Add fahrenheitToCelsius in src/fahrenheit.js, with a test.',
  fault: 'the model server responds with 503 until the agent gives up',
  cure: { kind: 'playbook', playbook: 'transient-backoff' },
  agent: 'overloaded',
  priority: 6,
  edits: [
    {
      path: 'src/fahrenheit.js',
      after: 'export const fahrenheitToCelsius = (fahrenheit) => ((fahrenheit - 32) * 5) / 9\n',
    },
    unitTest('fahrenheitToCelsius', 'fahrenheit', [212, 100]),
  ],
}

const denial = (outside: string): Chapter => ({
  number: 3,
  place: 'repository',
  title: 'Publish the list of units',
  instructions: `Write the list of units to src/units.js and to ${outside}/units.txt.`,
  fault: 'Claude refuses to write outside its folder',
  cure: { kind: 'playbook', playbook: 'directory-scope-relaunch' },
  agent: 'fenced',
  priority: 4,
  edits: [
    { path: `${outside}/units.txt`, after: 'miles feet inches celsius\n' },
    { path: 'src/units.js', after: "export const units = ['miles', 'feet', 'inches', 'celsius']\n" },
  ],
})

const kill: Chapter = {
  number: 4,
  place: 'repository',
  title: 'Convert pounds to kilograms',
  instructions: 'Add poundsToKilograms in src/weight.js, with a test.',
  fault: 'the engine is killed with kill -9 while the agent is working',
  cure: { kind: 'reattached' },
  agent: 'steady',
  began: signalFiles.victimBegan,
  until: signalFiles.victimGo,
  priority: 10,
  edits: [
    { path: 'src/weight.js', after: 'export const poundsToKilograms = (pounds) => pounds * 0.45359237\n' },
    unitTest('poundsToKilograms', 'weight', [2, 0.90718474]),
  ],
}

const rebase: Chapter = {
  number: 5,
  place: 'repository',
  title: 'Convert nautical miles to kilometres',
  instructions: 'Add nauticalMilesToKilometres to src/length.js, with a test.',
  fault: 'task 1 changes the same file first, so this one must be rebased',
  cure: { kind: 'rebased' },
  agent: 'steady',
  began: signalFiles.secondBegan,
  until: signalFiles.secondGo,
  priority: 8,
  edits: [
    {
      path: 'src/length.js',
      before: inchesLine,
      after: `${inchesLine}\nexport const nauticalMilesToKilometres = (miles) => miles * 1.852\n`,
    },
    unitTest('nauticalMilesToKilometres', 'length', [10, 18.52]),
  ],
}

const trust: Chapter = {
  number: 6,
  place: 'folder',
  title: 'Correct the total of the list',
  instructions: 'Correct the total in list.json.',
  fault: 'Codex refuses to start in a folder that is not a git repository',
  cure: { kind: 'playbook', playbook: 'git-trust-relaunch' },
  agent: 'untrusting',
  commands: ['node check.mjs'],
  priority: 0,
  edits: [{ path: 'list.json', before: '"total":5', after: '"total":6' }],
}

/** The six tasks. Task 3 writes into `outside`, which its goal allows. */
export const chaptersFor = (outside: string): Chapter[] => [
  missingScript,
  transient,
  denial(outside),
  kill,
  rebase,
  trust,
]
