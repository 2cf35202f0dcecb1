/** Restoring the owner's checkout after agents could write there. The whole of it is played in test/waits/checkout-question.test.ts. */
import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { readCheckout } from '../../src/workspace/checkout-state.ts'
import { holdCheckout } from '../../src/workspace/held-checkout.ts'
import { restoreCheckout } from '../../src/workspace/restore-checkout.ts'
import { put, setScene, type Scene } from './scene.ts'

let scene: Scene
afterEach(async () => scene.clear())

const name = 'folder/new/file.txt'

test('a folder that became a link out of the checkout gets nothing, not even a folder', async () => {
  scene = await setScene({ [name]: 'committed' })
  const { repository, root, top } = scene
  const [held, aside, outside] = ['held', 'aside', 'outside'].map((folder) => join(top, folder)) as [
    string,
    string,
    string,
  ]
  put(root, { [name]: 'edited by the owner' })
  const before = await readCheckout(repository)
  await holdCheckout(repository, before, held)
  mkdirSync(outside)
  rmSync(join(root, 'folder'), { recursive: true })
  symlinkSync(outside, join(root, 'folder'))
  const after = await readCheckout(repository)
  const change = { part: 'file' as const, name, before: before.file[name] ?? null, after: after.file[name] ?? null }
  expect(change.before).not.toBe(change.after)
  const result = await restoreCheckout(repository, { changes: [change], held, aside })
  expect(result).toMatchObject({ ok: true, left: [expect.stringContaining(name)] })
  expect(readdirSync(outside)).toEqual([])
})
