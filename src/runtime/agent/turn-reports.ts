/**
 * The plan and the reports that the roles of a loop leave for each other in `$UNSTUCK_RUN_DIR`. Every file has roles that may write it.
 * Unstuck keeps a copy of each outside of that folder; after a turn, what another role wrote is put back from the copy.
 */
import { join } from 'node:path'
import type { LoopRole } from '../../domain/loop.ts'
import { keepsBoxes } from '../../recovery/loop/open-boxes.ts'
import { runPaths, type RunPaths } from '../core/context.ts'
import type { Files } from '../core/files.ts'
import type { RunContext } from '../core/run-context.ts'

/** Written by Unstuck alone. */
const ownReports = ['goal.md', 'test-results.json', 'test-output.txt'] as const
export type OwnReport = (typeof ownReports)[number]

const writers: Record<string, readonly LoopRole[]> = {
  ...Object.fromEntries(ownReports.map((name) => [name, []])),
  'plan.md': ['planner', 'worker'],
  'implementation.md': ['worker'],
  'test-report.md': ['tester'],
  'recovery.json': ['tester'],
  'review.md': ['reviewer'],
  'review.json': ['reviewer'],
}

const phases = 'tasks'
const phaseWriters: readonly LoopRole[] = ['planner', 'worker']
const phaseFile = /^[\w][\w.-]{0,99}\.md$/
const mostPhases = 100
const mostBytes = 1024 * 1024

/** Files that count only if they were made in this turn. */
const ofOneTurn: Partial<Record<LoopRole, readonly string[]>> = { tester: ['recovery.json'], reviewer: ['review.json'] }

const isPlan = (name: string): boolean => name === 'plan.md' || name.startsWith(`${phases}/`)

interface ChangedReport {
  name: string
  /** Undefined = there was none before the turn. */
  kept: string | undefined
  /** Undefined = it is missing, a link, or too large. */
  now: string | undefined
}

/** The worker ticks the boxes of the plan and may add some; the planner alone decides that one is not needed. */
const mayWrite = (role: LoopRole, { name, kept = '', now = '' }: ChangedReport): boolean =>
  (writers[name] ?? (isPlan(name) ? phaseWriters : [])).includes(role) &&
  !(role === 'worker' && isPlan(name) && !keepsBoxes(kept, now))

const keptFolder = ({ root }: Pick<RunPaths, 'root'>): string => join(root, 'loop', 'kept')

/** Whether the path is itself and no link: an agent could make a report a link to a file of the user. */
const isReal = (files: Files, folder: string, name: string): boolean => {
  try {
    return files.realpathSync(join(folder, name)) === join(files.realpathSync(folder), name)
  } catch {
    return false // missing, or a link that leads nowhere
  }
}

const readReport = (files: Files, folder: string, name: string): string | undefined => {
  if (!isReal(files, folder, name)) return undefined
  const path = join(folder, name)
  const found = files.statSync(path)
  return found.isFile() && found.size <= mostBytes ? files.readFileSync(path, 'utf8') : undefined
}

const namesIn = (files: Files, folder: string): string[] => {
  const below = isReal(files, folder, phases) && files.statSync(join(folder, phases)).isDirectory()
  const more = below ? files.readdirSync(join(folder, phases)).filter((name) => phaseFile.test(name)) : []
  const present = files.existsSync(folder) ? files.readdirSync(folder) : []
  return [
    ...Object.keys(writers).filter((name) => present.includes(name)),
    ...more.slice(0, mostPhases).map((name) => `${phases}/${name}`),
  ]
}

/** Replaces whatever is there, so that nothing is written through a link. */
const putReport = (files: Files, folder: string, name: string, text: string | undefined): void => {
  if (name.startsWith(`${phases}/`) && !isReal(files, folder, phases))
    files.rmSync(join(folder, phases), { recursive: true, force: true })
  const path = join(folder, name)
  files.rmSync(path, { recursive: true, force: true })
  if (text === undefined) return
  files.mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 })
  files.writeFileSync(path, text, { mode: 0o600 })
}

/** The folder of the agent, made anew where something else took its place. */
const agentFolder = (files: Files, { root, agentDir }: RunPaths): string => {
  if (files.existsSync(root) && !isReal(files, root, 'agent')) files.rmSync(agentDir, { recursive: true, force: true })
  files.mkdirSync(agentDir, { recursive: true, mode: 0o700 })
  return agentDir
}

/** The text as it was kept at the end of the last turn that may write it. */
export const keptReport = ({ context, paths }: RunContext, name: string): string | undefined =>
  readReport(context.ports.files, keptFolder(paths), name)

/** The plan: the file, and those of its phases. */
export const keptPlan = (runContext: RunContext): { file: string; text: string }[] =>
  namesIn(runContext.context.ports.files, keptFolder(runContext.paths))
    .filter(isPlan)
    .map((file) => ({ file, text: keptReport(runContext, file) ?? '' }))

/** A report that only Unstuck writes. */
export const writeOwnReport = ({ context, paths }: RunContext, name: OwnReport, text: string): void => {
  const { files } = context.ports
  putReport(files, keptFolder(paths), name, text)
  putReport(files, agentFolder(files, paths), name, text)
}

/** Before the first launch of a turn: every report as it was kept, without those that this turn has to make. */
export const layReports = ({ context, paths }: RunContext, role: LoopRole): string[] => {
  const { files } = context.ports
  const [kept, folder] = [keptFolder(paths), agentFolder(files, paths)]
  for (const name of ofOneTurn[role] ?? []) putReport(files, kept, name, undefined)
  const names = namesIn(files, kept)
  for (const name of namesIn(files, folder)) if (!names.includes(name)) putReport(files, folder, name, undefined)
  for (const name of names) putReport(files, folder, name, readReport(files, kept, name))
  return names
}

/** The reports that differ from their kept copy. */
const changedReports = ({ context, paths }: RunContext): ChangedReport[] => {
  const { files } = context.ports
  const [keptIn, folder] = [keptFolder(paths), agentFolder(files, paths)]
  return [...new Set([...namesIn(files, keptIn), ...namesIn(files, folder)])].flatMap((name) => {
    const [kept, now] = [readReport(files, keptIn, name), readReport(files, folder, name)]
    return kept === now ? [] : [{ name, kept, now }]
  })
}

/** After a turn: the reports that the role changed and may not change. */
export const reportsToPutBack = (runContext: RunContext, role: LoopRole): string[] =>
  changedReports(runContext).flatMap((report) => (mayWrite(role, report) ? [] : [report.name]))

/** After a turn: keeps what the role may write, and puts the rest back. Can be repeated after a crash. */
export const takeReports = (runContext: RunContext, role: LoopRole): void => {
  const { context, paths } = runContext
  const { files } = context.ports
  for (const report of changedReports(runContext))
    if (mayWrite(role, report)) putReport(files, keptFolder(paths), report.name, report.now)
    else putReport(files, agentFolder(files, paths), report.name, report.kept)
}

/** The kept copy is not needed any more. */
export const dropReport = ({ context, paths }: RunContext, name: string): void =>
  putReport(context.ports.files, keptFolder(paths), name, undefined)

/** Takes over the reports of an earlier run of the task. False = they are not on this host. */
export const bringReports = ({ context, paths }: RunContext, earlierRun: string): boolean => {
  const { files } = context.ports
  const from = keptFolder(runPaths(context, earlierRun))
  const names = namesIn(files, from)
  for (const name of names) putReport(files, keptFolder(paths), name, readReport(files, from, name))
  return names.includes('plan.md')
}
