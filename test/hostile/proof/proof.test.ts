/**
 * Changes that turn a check green without the work: none of them is called verified, and what nothing proves does not land. Beside them
 * honest changes of the same shapes: they land without a question.
 */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLongForm } from '../../support/form.ts'
import { javascript } from './javascript.ts'
import { openProofScene, type ProofScene } from './play.ts'
import { python } from './python.ts'
import { recipes } from './recipes.ts'
import { untested } from './untested.ts'

const isThere = (program: string): boolean =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))

/** CI plays every fifth case. */
const chosen = <T>(all: readonly T[]): T[] => all.filter((_, index) => index % 5 === 0 || isLongForm)

const families = [javascript, python, untested, recipes].map((cases) => ({ name: cases.base.name, cases }))

describe.each(families)('$name', ({ cases: { base, fooling, honest } }) => {
  const missing = (base.needs ?? []).filter((program) => !isThere(program))
  let scene: ProofScene
  beforeAll(async () => {
    scene = await openProofScene(base, [...fooling, ...honest])
  })
  afterAll(async () => scene.clear())

  test.skipIf(missing.length > 0).each(chosen(fooling))('$name is a question', async ({ name }) => {
    const { place, text, proof, outcome } = await scene.play(name)
    expect([place, text]).toEqual(['blocked(awaiting_human)', text])
    if (proof?.kind === 'own changes') expect(outcome).toBe('not verified')
  })

  test.skipIf(missing.length > 0).each(chosen(honest))('$name lands without a question', async ({ name }) => {
    const { place, outcome, text } = await scene.play(name)
    expect([place, outcome, text]).toEqual(['done', 'verified', text])
  })
})
