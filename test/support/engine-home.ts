/**
 * The folder `UNSTUCK_HOME` of a test's engine, made ready so that the engine uses the server of the test run: its folder of the server is a
 * link to the shared one. Engines find it running there and leave it running, because the run itself is connected to it.
 */
import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { SharedServer } from './test-db.ts'

/** Call it before an engine, or a program that may start one, begins to use `home`. Where a project has no server, engines start their own. */
export const prepareEngineHome = (home: string): void => {
  const shared = inject('server') as SharedServer | undefined
  const link = join(home, 'postgres')
  if (shared === undefined || existsSync(link)) return
  mkdirSync(home, { recursive: true, mode: 0o700 })
  symlinkSync(join(shared.home, 'postgres'), link)
}
