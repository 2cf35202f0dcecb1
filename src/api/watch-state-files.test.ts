import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Context } from '../runtime/core/context.ts'
import { watchStateFiles } from './watch-state-files.ts'

/** Each wait of the watch is a step; returns after how many seconds it stopped the engine, null = not within ten minutes. */
const stoppedAfter = async (at: (seconds: number, folder: string) => void): Promise<number | null> => {
  const top = mkdtempSync(join(tmpdir(), 'unstuck-state-'))
  const stateDir = join(top, 'state')
  mkdirSync(stateDir)
  const stopping = new AbortController()
  let elapsed = 0
  const clock = {
    elapsed: () => elapsed,
    wait: async (ms: number) => {
      elapsed += ms
      at(elapsed / 1000, stateDir)
      if (elapsed >= 600_000) stopping.abort()
    },
  }
  const log = { warn: () => undefined, error: () => undefined }
  let stopped: number | null = null
  const context = { clock, log, stateDir, stopping: stopping.signal } as unknown as Context
  await watchStateFiles(context, {}, () => (stopped = elapsed / 1000))
  rmSync(top, { recursive: true })
  return stopped
}

test('an engine ends when its state folder is gone or another one for half a minute', async () => {
  expect(await stoppedAfter(() => undefined)).toBeNull()
  const gone = await stoppedAfter((seconds, folder) => {
    if (seconds === 10) renameSync(folder, `${folder}.old`)
  })
  expect(gone).toBe(40)
  const replaced = await stoppedAfter((seconds, folder) => {
    if (seconds !== 10) return
    renameSync(folder, `${folder}.old`)
    mkdirSync(folder)
  })
  expect(replaced).toBe(40)
})

test('a folder that comes back in time ends nothing', async () => {
  const back = await stoppedAfter((seconds, folder) => {
    if (seconds === 10) renameSync(folder, `${folder}.old`)
    if (seconds === 36) renameSync(`${folder}.old`, folder)
  })
  expect(back).toBeNull()
})
