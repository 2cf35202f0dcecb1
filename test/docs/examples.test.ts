/** What the documents tell a reader to type, write or open: links, commands and configurations that exist. */
import type { Command } from 'commander'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { repositoryRoot as root } from '../../scripts/root.ts'
import { declaredProgram } from '../../src/cli/run-command-line.ts'
import { loadConfig } from '../../src/config/config.ts'
import { readOwnPlaybook } from '../../src/recovery/own/own-playbook.ts'
import { contractFile, parseContract } from '../../src/runtime/checks/verify-contract.ts'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const pages = [
  ...['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path)),
]
const guides = pages.filter((path) => path.startsWith('docs/guides/'))

const blocksOf = (text: string, ...languages: string[]): string[] =>
  [...text.matchAll(/^```(\w*)\n(.*?)^```/gms)].flatMap(([, language = '', block = '']) =>
    languages.includes(language) ? [block] : [],
  )
const withoutBlocks = (text: string): string => text.replaceAll(/^```.*?^```/gms, '')

/** As GitHub makes them of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/[`*]|\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

const anchorsOf = (path: string): string[] =>
  [...withoutBlocks(read(path)).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading.trim()))

const brokenLinks = (page: string, text: string): string[] =>
  [...withoutBlocks(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !/^https?:/.test(link))
    .filter((link) => {
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? page : join(dirname(page), file)
      if (target.startsWith('..') || !existsSync(join(root, target))) return true
      return anchor !== undefined && !anchorsOf(target).includes(anchor)
    })

/** The words of each `unstuck …` in a line of a shell: up to a pipe, a comment, or the quote around it. */
const callsIn = (line: string): string[][] =>
  [...line.matchAll(/(?<![\w./~-]|git checkout )(?:\/path\/to\/checkout\/)?unstuck(?= |$)/g)].map(
    ({ index, 0: name }) => {
      const [rest = ''] = line.slice(index + name.length).split(/ (?:&&|\|\|?|>|#|—)(?: |$)|[;`)]/)
      const words: string[] = rest.match(/"[^"]*"?|'[^' ]+'|[^\s"']+|'/g) ?? []
      const end = words.indexOf("'")
      return end < 0 ? words : words.slice(0, end)
    },
  )

const callsOf = (text: string): string[][] => [
  ...blocksOf(text, 'sh').flatMap((block) => block.split('\n').flatMap(callsIn)),
  ...[...withoutBlocks(text).matchAll(/`([^`\n]*)`/g)]
    .map(([, span = '']) => span)
    .filter((span) => span.startsWith('unstuck '))
    .flatMap(callsIn),
]

let program: Command
beforeAll(async () => void (program = await declaredProgram('')))

/** What is wrong with a call; undefined = the command and its options exist. */
const problemOf = (words: readonly string[]): string | undefined => {
  let command = program
  const rest = [...words]
  for (;;) {
    const child = command.commands.find((one) => one.name() === rest[0])
    if (child === undefined) break
    command = child
    rest.shift()
  }
  const [first] = rest
  if (command === program && first !== undefined && !first.startsWith('-') && !first.startsWith('<'))
    return `there is no command ${first}`
  const end = rest.indexOf('--')
  const options = (end < 0 ? rest : rest.slice(0, end)).filter((word) => /^--?[a-z]/.test(word))
  const known = [
    '--help',
    '-h',
    ...[...command.options, ...program.options].flatMap(({ long, short }) => [long, short]),
  ]
  return options.map((option) => option.replace(/=.*/, '')).find((option) => !known.includes(option))
}

describe.each(pages)('%s', (page) => {
  const text = read(page)

  test('links to files and headings that exist', () => {
    expect(brokenLinks(page, text)).toEqual([])
  })

  test('names only commands and options that exist', () => {
    const wrong = callsOf(text).flatMap((words) => {
      const problem = problemOf(words)
      return problem === undefined ? [] : [`${words.join(' ')}: ${problem}`]
    })
    expect(wrong).toEqual([])
  })
})

/** The kind of a file shows in its keys: a playbook, a verify contract, or the configuration. */
const problemsOfJson = (json: string): string[] => {
  const value = JSON.parse(json) as object
  const reject = (check: () => unknown): string[] => {
    try {
      check()
      return []
    } catch (error) {
      return [`${json}: ${String(error)}`]
    }
  }
  // One task of a task file, and the body of a webhook.
  if ('instructions' in value || 'data' in value) return []
  if ('match' in value) {
    const playbook = readOwnPlaybook(json)
    return playbook.ok ? [] : [`${json}: ${playbook.problem}`]
  }
  if ('rules' in value) return reject(() => parseContract(contractFile, json))
  return reject(() => loadConfig({ root, readFile: () => json }))
}

test.each(pages)('each JSON of %s is a valid file', (page) => {
  expect(blocksOf(read(page), 'json').flatMap(problemsOfJson)).toEqual([])
})

test.each(guides)('%s has at most 120 lines', (page) => {
  expect(read(page).trimEnd().split('\n').length).toBeLessThanOrEqual(120)
})

test('every page but a decision is in the table of contents', () => {
  const contents = read('docs/README.md')
  const named = pages
    .filter((page) => page.startsWith('docs/') && !page.startsWith('docs/decisions/') && page !== 'docs/README.md')
    .filter((page) => !contents.includes(`(${page.slice('docs/'.length)})`))
  expect(named).toEqual([])
})

test('the finders find what is wrong', () => {
  expect(brokenLinks('README.md', '[a](docs/none.md) [b](#none) [c](docs/README.md) [d](../x)')).toEqual([
    'docs/none.md',
    '#none',
    '../x',
  ])
  const calls = callsOf(
    '`unstuck runn x`\n\n```sh\nssh a \'unstuck status --wach\' | x\nunstuck run "a b" --merge # --no\n```\n',
  )
  expect(calls).toEqual(
    [
      ['run', '"a b"', '--merge'],
      ['runn', 'x'],
    ].toSpliced(0, 0, ['status', '--wach']),
  )
  expect(calls.map(problemOf)).toEqual(['--wach', undefined, 'there is no command runn'])
  expect(problemsOfJson('{"maxParalel": 1}')).toHaveLength(1)
})
