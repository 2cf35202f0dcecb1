/**
 * A harness is added in its own files, `src/harness/<name>*.ts`, and in the list, `names.ts` and `drivers.ts`. Any other code
 * that names a harness would be one more place to remember, so everything that depends on the harness is a field of `Driver`.
 */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { knownHarnesses } from '../../src/harness/names.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

const isOwnFile = (path: string): boolean =>
  ['src/harness/names.ts', 'src/harness/drivers.ts'].includes(path) ||
  knownHarnesses.some((name) => new RegExp(`^src/harness/${name}(?:-[a-z]+)?\\.ts$`).test(path))

const comments = /\/\*[\s\S]*?\*\/|(?<![:'"`\\])\/\/ .*$/gm
/** A whole word: as a literal, a property, a key, or a word of a text. Capitalized it is a product's name in a sentence. */
const mention = new RegExp(`(?<![\\w/-])(?:${knownHarnesses.join('|')})(?![\\w-])`, 'g')

const mentionsIn = (source: string): number => source.replace(comments, '').match(mention)?.length ?? 0

/** Files that may name harnesses, how often at most, and why. */
const allowed: Record<string, { mentions: number; why: string }> = {
  'src/harness/acp.ts': { mentions: 1, why: 'an example in a message: an agent that speaks the protocol' },
  'src/cli/commands/exec.ts': { mentions: 1, why: 'an example in the help' },
  'src/cli/commands/look-after.ts': { mentions: 1, why: 'an example in the help' },
  'src/cli/commands/init.ts': { mentions: 2, why: 'examples in a sentence' },
  'src/cli/overview.ts': { mentions: 2, why: 'examples in a sentence' },
  'src/cli/demo/folders.ts': { mentions: 3, why: 'the demo plays faults of certain CLIs' },
  'src/recovery/diagnosis/launch-failure.ts': {
    mentions: 10,
    why: "the founding document's sentences, each of one CLI; drivers report newer ones as a type of the common vocabulary",
  },
  'src/recovery/diagnosis/rules/agent-output.ts': { mentions: 8, why: 'where the sample of a rule comes from' },
  'src/recovery/policy/litter.ts': { mentions: 3, why: 'folders that certain CLIs keep in a repository' },
  'src/recovery/host-keys.ts': { mentions: 1, why: 'a program in the command line of a check' },
  'src/recovery/diagnosis/argv.ts': {
    mentions: 4,
    why: 'programs of agents in the command line of a check, most of which have no driver',
  },
}

describe('the names of the harnesses', () => {
  it('are in their own files, in the list, and nowhere else', () => {
    const found = globSync('src/**/*.ts', { cwd: root })
      .filter((path) => !path.endsWith('.test.ts') && !isOwnFile(path))
      .map((path) => ({ path, mentions: mentionsIn(readFileSync(`${root}/${path}`, 'utf8')) }))
      .filter(({ path, mentions }) => mentions > (allowed[path]?.mentions ?? 0))
    expect(found).toEqual([])
  })

  it('are still in every file that may have them', () => {
    const unused = Object.keys(allowed).filter((path) => mentionsIn(readFileSync(`${root}/${path}`, 'utf8')) === 0)
    expect(unused).toEqual([])
  })

  it.each([
    [`if (driver.name === 'claude') return`, 1],
    ['const logins = { codex: login, gemini: other }', 2],
    ['drivers.opencode', 1],
    ['const texts = `run ${name} or opencode`', 1],
    ['/** As claude does. */\nrun() // as codex does', 0],
    [`import { apiError } from './gemini-errors.ts'`, 0],
    [`label: 'Claude Code'`, 0],
  ])('%j names %i', (source, mentions) => {
    expect(mentionsIn(source)).toBe(mentions)
  })
})
