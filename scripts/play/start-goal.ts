/** Waits for the engine of a stage, and gives it the scenarios. */
import { setTimeout as delay } from 'node:timers/promises'
import { callCli } from '../../src/cli/demo/drive.ts'
import type { Client } from '../../src/cli/engine/client.ts'
import { findEngine } from '../../src/cli/engine/connect.ts'
import { homeOf } from '../../src/cli/engine/home.ts'
import type { Io } from '../../src/cli/io.ts'
import { scenarios } from './scenarios.ts'
import type { Scratch } from './stage.ts'

const pollMs = 100

/** Undefined = the signal aborted first. */
export const untilReady = async (io: Io): Promise<Client | undefined> => {
  const home = await homeOf(io)
  while (!io.signal.aborted) {
    const client = await findEngine(home)
    if (client !== undefined) return client
    await delay(pollMs, undefined, { signal: io.signal }).catch(() => undefined) // aborted: the wait ends
  }
  return undefined
}

/** `io` is that of the repository. */
export const startGoal = async (io: Io, scratch: Scratch): Promise<void> => {
  const args = ['run', scratch.taskFile, '--detach']
  const { code, stderr } = await callCli(io, scratch, { cwd: scratch.repository, args, signal: io.signal })
  if (code !== 0 && !io.signal.aborted) io.error(`the scenarios were not started: ${stderr.trim()}\n`)
}

export const scenarioLines = (): string[] =>
  scenarios.map(({ title, fault, ends }, index) => `  ${index + 1}. ${title}: ${fault} (ends: ${ends})`)
