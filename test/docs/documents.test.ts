/** The documents that people write by hand: how long they may be, and that what they name exists. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { repositoryRoot as root } from '../../scripts/root.ts'
import type { StatusView } from '../../src/api/contract.ts'
import { createPaint, statusLines } from '../../src/cli/render.ts'
import { declaredProgram } from '../../src/cli/run-command-line.ts'
import { waitingOn, type TaskFacts } from '../../src/runtime/people/waiting-on.ts'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const decisions = readdirSync(join(root, 'docs/decisions')).map((name) => `docs/decisions/${name}`)
const documents = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'docs/judge.md',
  'docs/loop.md',
  'docs/weakened.md',
  'docs/exports.md',
  'docs/metrics-and-traces.md',
  ...decisions,
]

const proseOf = (text: string): string => text.replaceAll(/```[\s\S]*?```/g, '')

/** Paths in code spans, without those that hold a placeholder or a pattern. */
const pathsIn = (text: string): string[] =>
  [...proseOf(text).matchAll(/`((?:src|test|sim|dashboard|scripts|bench|schema|docs)\/[^`\s]+)`/g)]
    .flatMap(([, path]) => path ?? [])
    .filter((path) => !/[<*]/.test(path))

const linksIn = (text: string): string[] =>
  [...proseOf(text).matchAll(/\]\(([^)]+)\)/g)]
    .flatMap(([, link]) => link ?? [])
    .filter((link) => !/^https?:/.test(link))

/** Names in code spans that look like those of functions, columns, playbooks or keys. */
const namesIn = (text: string): string[] =>
  [...proseOf(text).matchAll(/`([A-Za-z][\w.-]*)`/g)].flatMap(([, name]) => name ?? [])

const sources = (): string =>
  ['src', 'test', 'sim', 'dashboard', 'scripts']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
    )
    .filter((path) => /\.(tsx?|sql)$/.test(path))
    .map(read)
    .join('\n')

test('every name that the architecture and the decisions mention is in the code', () => {
  const code = new Set(
    sources()
      .match(/[\w.-]+/g)
      ?.flatMap((word) => [word, ...word.split('.')]),
  )
  const text = [...decisions, 'ARCHITECTURE.md'].map(read).join('\n')
  expect(namesIn(text).filter((name) => !code.has(name) && !name.split('.').every((part) => code.has(part)))).toEqual(
    [],
  )
})

test.each([
  ['README.md', 120],
  ['ARCHITECTURE.md', 150],
])('%s has at most %i lines', (path, most) => {
  expect(read(path).trimEnd().split('\n').length).toBeLessThanOrEqual(most)
})

describe.each(documents)('%s', (document) => {
  const text = read(document)

  test('names only files that exist', () => {
    expect(pathsIn(text).filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  test('links only to files of this repository', () => {
    const targets = linksIn(text).map((link) => join(dirname(document), link.replace(/#.*$/, '')))
    expect(targets.filter((target) => target.startsWith('..') || !existsSync(join(root, target)))).toEqual([])
  })
})

test('the finder of paths finds them', () => {
  expect(pathsIn('`src/a.ts` and `src/<name>.ts`, `test/*/b` `docs/x.md`\n```\n`src/no.ts`\n```')).toEqual([
    'src/a.ts',
    'docs/x.md',
  ])
})

test('the glossary has at most 20 words, each once', () => {
  const glossary = read('ARCHITECTURE.md').split('## Glossary')[1] ?? ''
  const words = [...glossary.matchAll(/^\| ([a-z][a-z ]*) \|/gm)]
    .flatMap(([, word]) => word ?? [])
    .filter((word) => word !== 'word')
  expect(words.length).toBeGreaterThan(0)
  expect(words.length).toBeLessThanOrEqual(20)
  expect(new Set(words).size).toBe(words.length)
})

test('the index of the decisions names each decision once', () => {
  const index = linksIn(read('docs/decisions/README.md'))
  const pages = decisions.map((path) => path.slice('docs/decisions/'.length)).filter((name) => name !== 'README.md')
  expect(index.toSorted()).toEqual(pages.toSorted())
})

test('the page of commands has a heading for each command that exists', async () => {
  const named = [...read('docs/commands.md').matchAll(/^### ([a-z-]+)$/gm)].map(([, name]) => name ?? '')
  const { commands } = await declaredProgram('')
  const shown = commands.map((command) => command.name()).filter((name) => name !== 'engine')
  expect(named.toSorted()).toEqual(shown.toSorted())
})

describe('the example of `unstuck status` in the tutorial', () => {
  const now = new Date('2026-03-02T20:49:36')
  const after = (seconds: number): Date => new Date(now.getTime() + seconds * 1000)
  const limit = "You've hit your limit · resets 11:13pm (UTC)"
  const shown = ['Add a benchmark', 'Cache the tokens', 'Write the changelog', 'Split the lexer']
  const tasks = [
    { status: 'done' },
    { status: 'failed', retry: { count: 1, limit: 6, reason: 'provider_overloaded', at: after(24) } },
    { status: 'blocked(awaiting_human)' },
    { status: 'blocked(quota_wait)', retry: { count: 1, limit: 6, reason: 'quota_wait', at: after(8604) } },
  ].map((task, index) => ({
    ...{
      id: `t-${index + 1}`,
      number: index + 1,
      title: shown[index],
      harness: 'claude',
      retry: null,
      takenOver: null,
    },
    ...task,
  }))
  const runs = [{ taskId: 't-4', harness: 'claude', errorMeta: { evidence: limit } }]
  const escalations = [{ state: 'pending', taskId: 't-3' }]
  const viewOf = (task: (typeof tasks)[number]) => {
    const step = waitingOn({ task, goal: {}, tasks, runs, merges: [], escalations } as unknown as TaskFacts)
    return { ...task, run: null, nextStep: step === undefined ? null : { ...step, at: step.at?.toISOString() } }
  }
  const status = {
    ...{ at: now.toISOString(), endedLeftOut: 0, escalations: [], suggestions: [], limits: [] },
    ...{ engines: [], undelivered: [], notices: [] },
    goals: [
      {
        ...{ id: 'g-4k2m9xqa', title: 'Speed up the parser', state: 'active', reason: '', stillFailing: [] },
        ...{ mergeCommand: null, partCommand: null, targetBranch: 'main', tasks: tasks.map(viewOf) },
      },
    ],
  }

  test('is what the command prints', () => {
    const example = /\$ unstuck status\n([\s\S]*?)\n```/.exec(read('docs/guides/first-night.md'))?.[1]
    const lines = statusLines(createPaint(false), status as unknown as StatusView)
    const printed = lines
      .join('\n')
      .trimEnd()
      .replaceAll(/\bt-\d\b/g, 't-…')
    expect(printed.split('\n').map((line) => line.trimEnd())).toEqual(example?.split('\n'))
  })
})
