/**
 * 109 changes that turn a check green without the work, and 77 honest ones, over eight runners. `FAMILY=pytest,make` plays some of them,
 * `PROOF_TABLE=file` writes what each proved. Cargo must be on the PATH itself, not a proxy that looks for its tools in the home folder.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Cases } from '../proof/case.ts'
import { openProofScene, type ProofScene } from '../proof/play.ts'
import { cargo } from '../proof/runners/cargo.ts'
import { jest } from '../proof/runners/jest.ts'
import { make } from '../proof/runners/make.ts'
import { mocha } from '../proof/runners/mocha.ts'
import { pytest } from '../proof/runners/pytest.ts'
import { shell } from '../proof/runners/shell.ts'
import { tape } from '../proof/runners/tape.ts'
import { vitest } from '../proof/runners/vitest.ts'

const all: Record<string, Cases> = { pytest, make, shell, vitest, jest, mocha, tape, cargo }
const wanted = process.env.FAMILY?.split(',') ?? Object.keys(all)

/**
 * The product answers otherwise for its tests, or a new test asserts nothing: no run of the checks tells it from work. Or the product sets the
 * exit status of a test program that counts nothing: its output would tell, which is not compared with the base's.
 */
const isBeyond = (name: string): boolean =>
  /-undetectable$|-product-(?:asks|looks)|-equals-everything$|-asserts-a-tuple$|-documents-what-it-does-not-do$|-redefines-strcmp$|-that-cannot-fail$|-sets-exit-status$/.test(
    name,
  )

describe.each(wanted)('%s', (family) => {
  const { base, fooling, honest } = all[family] as Cases
  let scene: ProofScene
  beforeAll(async () => {
    scene = await openProofScene(base, [...fooling, ...honest])
  })
  afterAll(() => scene.clear())

  test.each(fooling.filter(({ name }) => !isBeyond(name)))('$name is a question', async ({ name }) => {
    const { place, text } = await scene.play(name)
    expect([place, text]).toEqual(['blocked(awaiting_human)', text])
  })

  test.each(honest)('$name lands without a question', async ({ name }) => {
    const { place, text } = await scene.play(name)
    expect([place, text]).toEqual(['done', text])
  })
})
