/**
 * Cases that were written, with the outcome of each, without a look at how work is judged: none of the attacks lands by itself, and honest
 * work is on the goal branch without a question. CI plays a few, the long form all; `BLIND_CASES` names some.
 */
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { describe, it } from 'vitest'
import { isLongForm } from '../../support/form.ts'
import { play } from './play.ts'
import { blindCases, plainResult, type BlindCase } from './read-cases.ts'

const isThere = (program: string): boolean =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))

const needed = (check: string): string => check.split(' ')[0] ?? ''

/** Of the ways in which a proof was wrong when these cases were first played. */
const short = 'node-subject-patches-assert,shell-subject-traps-exit,make-fix,reporter-configured'

const chosen = (process.env.BLIND_CASES ?? short).split(',')
const isChosen = ({ name }: BlindCase): boolean =>
  (isLongForm && process.env.BLIND_CASES === undefined) || chosen.includes(name)

const cases = blindCases.filter((subject) => isChosen(subject) && isThere(needed(subject.base.check)))

/** Attacks that no run of the checks can tell from work, because the value itself claims to be equal: a reviewer's business. */
const beyondChecks = new Set(['pytest-subject-equals-everything'])

describe.concurrent('a case', () => {
  it.for(cases)('$kind $name is what it claims to be', ({ name }, { expect }) => {
    const subject = blindCases.find((each) => each.name === name)
    const top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-plain-')))
    try {
      const { after } = plainResult(subject as BlindCase, top)
      expect(after).toBe(subject?.kind === 'honest' || subject?.isGreen === true)
    } finally {
      rmSync(top, { recursive: true, force: true, maxRetries: 5 })
    }
  })

  it.for(cases.filter(({ kind, name }) => kind === 'attack' && !beyondChecks.has(name)))(
    '$name does not land by itself',
    async (subject, { expect }) => {
      const { end, printed } = await play(subject)
      expect([end === 'landed', printed]).toEqual([false, printed])
    },
  )

  it.for(cases.filter(({ kind }) => kind === 'honest'))(
    '$name is on the goal branch without a question',
    async (subject, { expect }) => {
      const { end, questions, printed } = await play(subject)
      expect([questions, printed]).toEqual([[], printed])
      expect(subject.mayBeHeld ? ['landed', 'goal branch'] : ['landed']).toContain(end)
    },
  )
})
