/**
 * `unstuck store rebuild`: takes over what an earlier store left in the repository. The work of each of its goal branches is checked and judged
 * again, as a new goal: commits and exports can be forged, so nothing that they say of themselves counts. Tasks that were not done are named.
 */
import { join } from 'node:path'
import type { Goal } from '../api/contract.ts'
import { loadConfig } from '../config/config.ts'
import { goalExports } from '../domain/export-folder.ts'
import { exitCodes } from '../errors.ts'
import { readRegularTextSync } from '../platform/regular-file.ts'
import { goalFromTaskFile } from '../runtime/goal/goal-input.ts'
import type { Client } from './engine/client.ts'
import { connect } from './engine/connect.ts'
import { unknownBranches, type GoalBranch } from './engine/goal-branches.ts'
import type { Home } from './engine/home.ts'
import { printLine, type Io } from './io.ts'
import { safe } from './render.ts'
import { goalRequestOf } from './run/request.ts'

interface Exported {
  title: string
  /** Titles of the tasks that were not done. */
  open: string[]
}

type ExportedEvent = Partial<Record<'event' | 'task_id', unknown>> & { data?: { title?: unknown } }

const eventOf = (line: string): ExportedEvent[] => {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? [value] : []
  } catch {
    return [] // the last line may be cut off
  }
}

/** What the exported events of a goal tell, as far as they hold. */
const exportedOf = ({ repository }: Home, { goalId, name }: GoalBranch): Exported => {
  let text = ''
  try {
    text = readRegularTextSync(join(repository.root, goalExports.folder, goalId, 'events.jsonl'), { noLink: true })
  } catch {
    // There is no export: its work is in the branch.
  }
  const tasks = new Map<string, string>()
  let title = `The work of ${name}`
  for (const { event, task_id: task, data } of text.split('\n').flatMap(eventOf)) {
    const named = typeof data?.title === 'string' ? safe(data.title).slice(0, 200) : ''
    if (event === 'goal.created' && named !== '') title = named
    if (event === 'task.created') tasks.set(String(task), named)
    if (event === 'task.done' || event === 'task.cancelled') tasks.delete(String(task))
  }
  return { title, open: [...tasks.values()] }
}

interface Taking {
  client: Client
  home: Home
}

const takeOver = async (io: Io, { client, home }: Taking, branch: GoalBranch, title: string): Promise<void> => {
  const instructions = `Check and judge the work that an earlier store left on ${branch.name}.`
  const task = { title, instructions, role: 'judge', review: { branch: branch.name } }
  const input = goalFromTaskFile('store rebuild', JSON.stringify({ version: 1, goal: title, tasks: [task] }))
  const config = loadConfig({ root: home.repository.root, environment: io.environment })
  // Nothing lands by itself: a person looks at work of which only git still knows.
  const options = { allowDir: [], merge: false }
  const goal = await client.post<Goal>('/goals', goalRequestOf(io, { home, input, options, config }))
  printLine(io, `${branch.name} is checked again as goal ${goal.id}: ${title}`)
}

export const rebuildStore = async (io: Io): Promise<number> => {
  const taking = await connect(io, { start: true, rebuilds: true })
  const branches = await unknownBranches(taking.client, taking.home)
  for (const branch of branches) {
    const { title, open } = exportedOf(taking.home, branch)
    if (!branch.isOnBranch) await takeOver(io, taking, branch, title)
    for (const each of open) printLine(io, `  not done, and to be asked for again (${branch.name}): ${each}`)
  }
  const taken = branches.filter(({ isOnBranch }) => !isOnBranch).length
  printLine(
    io,
    taken === 0
      ? 'No work is left to take over: each goal branch belongs to a goal of this store, or is on your branch.'
      : 'Answers, budgets and logs of the earlier goals are lost. Follow the new ones: unstuck status',
  )
  return exitCodes.ok
}
