/** The kill rounds pass every crash point of the product, and the product has every point that they name. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { crashPoints } from '../../src/runtime/core/context.ts'
import { killedElsewhere, pointRounds, settingsOf } from '../chaos/plan.ts'

const source = join(import.meta.dirname, '..', '..', 'src')

const passedInSource = (): string[] => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const texts = files.map((name) => readFileSync(join(source, name), 'utf8'))
  return texts.flatMap((text) => [...text.matchAll(/\bcontext\.at\('([a-z-]+)'\)/g)].map(([, point]) => point ?? ''))
}

test('every crash point of the source is in the kill rounds, and the other way round', () => {
  const killed = pointRounds(settingsOf({})).flatMap(({ kill }) => kill.points.map(({ point }) => point))
  expect([...new Set([...killed, ...killedElsewhere])].sort()).toEqual([...crashPoints].sort())
  expect([...new Set(passedInSource())].sort()).toEqual([...crashPoints].sort())
})
