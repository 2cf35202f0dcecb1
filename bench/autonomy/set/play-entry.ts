/** Plays one entry on Unstuck with its defaults, except that waits are shorter. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { accompany, closeCell, launchesOf, openCell } from '../cell.ts'
import { clocks, lastOf, unstuck, type BenchCell } from '../forms.ts'
import { gitIn, writeFiles } from '../project.ts'
import type { SetEntry, SetScene } from './entry.ts'
import { accountOf, judgeEntry, type Account, type Outcome } from './outcome.ts'

export interface Played extends Outcome {
  entry: SetEntry
  account: Account
  launches: number
  seconds: number
  said: string
}

export interface PlayOptions {
  cache: string
  /** Limit of the whole entry. */
  seconds: number
  /** Keep the folder of an entry that ends wrongly. */
  keep: boolean
}

/** The harness of the cell's own program is called `mine`, because `command` is a driver and no harness of its own. */
const harnessOf = (cli: SetScene['cli']): string => (cli === 'command' ? 'mine' : cli)

const shorter = { ...clocks, requeue: { failedSeconds: 2, blockedSeconds: 2 } }

/** `<side>` stands for a folder beside the project. */
const placed = <T>(value: T, { folder }: BenchCell): T =>
  JSON.parse(JSON.stringify(value).replaceAll('<side>', join(folder, 'side'))) as T

const writeOrders = (cell: BenchCell, scene: SetScene): void => {
  const player = join(import.meta.dirname, 'player.ts')
  const plays = join(cell.folder, 'plays.json')
  const command = [process.execPath, player, '--plays', plays, '--memory', cell.memory, '--cli', scene.cli]
  const harness = harnessOf(scene.cli)
  const config = { harness: { default: harness, [harness]: { command } }, ...shorter, ...scene.config }
  const tasks = scene.tasks.map((task) => ({ instructions: task.title, ...task }))
  writeFiles(cell.project, { '.unstuck/config.json': JSON.stringify(config) })
  writeFiles(cell.folder, {
    'plays.json': JSON.stringify(placed(scene.plays, cell)),
    'tasks.json': JSON.stringify({ version: 1, goal: 'Improve slug', tasks }),
  })
}

const waiting = 75

/** `run` returns at a longer limit, while the engine goes on. */
const awaitEngine = async (cell: BenchCell, deadline: number): Promise<void> => {
  for (;;) {
    await unstuck(cell, 'tasks', 60, 'tasks', '--json')
    const { statuses } = readAccount(cell)
    const isOpen = statuses.some((status) => !['done', 'cancelled', 'blocked(awaiting_human)'].includes(status))
    if (!isOpen || performance.now() > deadline) return
    await delay(500)
  }
}

const readAccount = (cell: BenchCell): Account => {
  for (const name of ['events', 'runs', 'tasks'])
    if (!existsSync(join(cell.folder, name))) writeFiles(cell.folder, { [name]: '' })
  return accountOf(cell)
}

const runEntry = async (cell: BenchCell, scene: SetScene, seconds: number): Promise<boolean> => {
  const deadline = performance.now() + seconds * 1000
  const options = placed(scene.options ?? [], cell)
  const code = await unstuck(cell, 'run', seconds, 'run', join(cell.folder, 'tasks.json'), '--merge', ...options)
  if (code === waiting) await awaitEngine(cell, deadline)
  for (const name of ['events', 'runs', 'tasks']) await unstuck(cell, name, 60, name, '--json')
  await unstuck(cell, 'stop', 60, 'stop')
  return code === waiting ? readAccount(cell).goalDone : code === 0
}

export const playEntry = async (entry: SetEntry, { cache, seconds, keep }: PlayOptions): Promise<Played> => {
  const scene = entry.scene(entry.seed)
  const cell = openCell({ name: entry.name, cache, scene })
  const base = gitIn(cell.project, 'rev-parse', 'main')
  writeOrders(cell, scene)
  const leave = accompany(cell, scene)
  const began = performance.now()
  let right = false
  try {
    const claimsDone = await runEntry(cell, scene, seconds)
    const took = (performance.now() - began) / 1000
    const account = readAccount(cell)
    const outcome = await judgeEntry(cell, entry, scene, { base, claimsDone, account })
    right = outcome.right
    const said = right ? '' : `${lastOf(cell, 'run')}${keep ? `\n(kept in ${cell.folder})` : ''}`
    return { ...outcome, entry, account, launches: launchesOf(cell), seconds: took, said }
  } finally {
    leave()
    closeCell(cell, keep && !right)
  }
}
