/** The work of `unstuck service`: writes the file with which systemd or launchd keeps the engine of this repository running, and starts it. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { AppError, exitCodes } from '../errors.ts'
import { isLinux } from '../platform/proc.ts'
import { realFiles } from '../runtime/core/files.ts'
import { findProgram } from '../runtime/core/find-program.ts'
import type { JsonOption } from './command-options.ts'
import { homeOf } from './engine/home.ts'
import { printJson, printLine, type Io } from './io.ts'
import { safe } from './render.ts'
import { launchdAgent, systemdUnit, type ServiceFacts } from './service-units.ts'

interface Service {
  name: string
  file: string
  text: string
  manager: 'systemd' | 'launchd'
  /** Command lines after the file is there, before it goes, and after it is gone. */
  start: string[][]
  end: string[][]
  gone: string[][]
  isActive: string[]
}

interface WhoseService {
  /** The unit of the user, also for root. */
  user?: true
}

/** Variables that an engine needs and that a service manager does not have. */
const passed = ['PATH', 'HOME', 'UNSTUCK_HOME', 'XDG_STATE_HOME', 'XDG_CONFIG_HOME'] as const

const factsOf = async (io: Io, { user }: WhoseService): Promise<ServiceFacts & { id: string }> => {
  const { repository } = await homeOf(io)
  const environment = Object.fromEntries(
    passed.flatMap((name) => (io.environment[name] ? [[name, io.environment[name] ?? '']] : [])),
  )
  const isSystem = isLinux && userInfo().uid === 0 && user !== true
  return { self: io.self, root: repository.root, environment, isSystem, id: repository.id }
}

const systemdService = (io: Io, facts: ServiceFacts & { id: string }): Service => {
  const name = `unstuck-${facts.id}.service`
  const own = io.environment.XDG_CONFIG_HOME || join(io.environment.HOME ?? homedir(), '.config')
  const folder = facts.isSystem ? '/etc/systemd/system' : join(own, 'systemd', 'user')
  const control = ['systemctl', ...(facts.isSystem ? [] : ['--user'])]
  const reload = [...control, 'daemon-reload']
  return {
    ...{ name, file: join(folder, name), text: systemdUnit(facts), manager: 'systemd' },
    ...{ start: [reload, [...control, 'enable', '--now', name]], end: [[...control, 'disable', '--now', name]] },
    ...{ gone: [reload], isActive: [...control, 'is-active', name] },
  }
}

const launchdService = (io: Io, facts: ServiceFacts & { id: string }): Service => {
  const name = `unstuck.${facts.id}`
  const file = join(io.environment.HOME ?? homedir(), 'Library', 'LaunchAgents', `${name}.plist`)
  return {
    ...{ name, file, text: launchdAgent(name, facts), manager: 'launchd' },
    ...{ start: [['launchctl', 'load', '-w', file]], end: [['launchctl', 'unload', '-w', file]], gone: [] },
    isActive: ['launchctl', 'list', name],
  }
}

const serviceOf = async (io: Io, whose: WhoseService): Promise<Service> => {
  const facts = await factsOf(io, whose)
  return isLinux ? systemdService(io, facts) : launchdService(io, facts)
}

const textAt = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined // it is not installed
  }
}

const requireManager = (io: Io, { start, manager }: Service): void => {
  const program = start[0]?.[0] ?? ''
  if (findProgram(realFiles, program, io.environment.PATH) !== undefined) return
  throw new AppError(
    'ILLEGAL',
    `${program} is not on the PATH, so ${manager} cannot run a service here; run "unstuck up" under another supervisor, or in the background: nohup unstuck up > unstuck.log 2>&1 &`,
  )
}

const runAll = async (io: Io, lines: string[][]): Promise<void> => {
  for (const [program = '', ...args] of lines) {
    const { exitCode, stderr } = await execa(program, args, {
      ...{ env: io.environment, extendEnv: false, reject: false, stdin: 'ignore' },
    })
    if (exitCode === 0) continue
    const said = stderr.trim() === '' ? '' : `: ${stderr.trim().split('\n')[0]}`
    throw new AppError('ILLEGAL', `${[program, ...args].join(' ')} ended with ${exitCode ?? 'no exit status'}${said}`)
  }
}

const shown = (lines: string[][]): string => lines.map((line) => line.join(' ')).join(' && ')

export interface ServiceOptions extends JsonOption, WhoseService {
  dryRun?: true
}

export const serviceInstallCommand = async (io: Io, options: ServiceOptions): Promise<number> => {
  const service = await serviceOf(io, options)
  const { file, text, start } = service
  if (options.dryRun === true) {
    if (options.json === true) printJson(io, { file, text, commands: start })
    else printLine(io, `Would write ${safe(file)}:\n${text}Would run: ${safe(shown(start))}`)
    return exitCodes.ok
  }
  requireManager(io, service)
  const isChanged = textAt(file) !== text
  if (isChanged) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text, { mode: 0o644 })
  }
  await runAll(io, start)
  if (options.json === true) printJson(io, { file, written: isChanged, commands: start })
  else {
    printLine(io, `${isChanged ? 'Wrote' : 'Unchanged:'} ${safe(file)}`)
    printLine(io, `Ran: ${safe(shown(start))}`)
    printLine(io, 'To undo it: unstuck service uninstall')
  }
  return exitCodes.ok
}

export const serviceUninstallCommand = async (io: Io, options: ServiceOptions): Promise<number> => {
  const service = await serviceOf(io, options)
  const { file, end, gone } = service
  const isThere = textAt(file) !== undefined
  if (isThere && options.dryRun !== true) {
    requireManager(io, service)
    await runAll(io, end)
    rmSync(file, { force: true })
    await runAll(io, gone)
  }
  const would = options.dryRun === true
  if (options.json === true) printJson(io, { file, removed: isThere && !would, commands: [...end, ...gone] })
  else if (!isThere) printLine(io, `There is no service of this repository (${safe(file)}).`)
  else printLine(io, `${would ? 'Would remove' : 'Removed'} ${safe(file)}. Agents that run keep running.`)
  return exitCodes.ok
}

/** Exit status 1: it is installed and does not run; 4: it is not installed. */
export const serviceStatusCommand = async (io: Io, options: JsonOption & WhoseService): Promise<number> => {
  const service = await serviceOf(io, options)
  const text = textAt(service.file)
  const [program = '', ...args] = service.isActive
  const asked =
    text === undefined
      ? undefined
      : await execa(program, args, { env: io.environment, extendEnv: false, reject: false, stdin: 'ignore' })
  const isActive = asked?.exitCode === 0
  const isOutdated = text !== undefined && text !== service.text
  const { file, name, manager } = service
  if (options.json === true)
    printJson(io, { file, name, manager, installed: text !== undefined, active: isActive, outdated: isOutdated })
  else if (text === undefined) printLine(io, `Not installed (${safe(file)}); unstuck service install`)
  else {
    printLine(io, `${safe(name)}: ${isActive ? 'runs' : 'does not run'} (${safe(file)})`)
    if (isOutdated) printLine(io, 'It differs from what would be written now: unstuck service install')
  }
  return text === undefined ? exitCodes.notFound : isActive ? exitCodes.ok : exitCodes.failed
}
