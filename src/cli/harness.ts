/** The work of `unstuck harness`: lists the agent CLIs with version, login, location and capabilities. */
import { loadConfig } from '../config/config.ts'
import { AppError, exitCodes } from '../errors.ts'
import { cliVersionIn } from '../harness/capabilities.ts'
import type { Capabilities } from '../harness/capabilities.ts'
import { drivers } from '../harness/drivers.ts'
import { isKnownHarness } from '../harness/names.ts'
import { askVersion } from '../process/program-version.ts'
import { realFiles } from '../runtime/core/files.ts'
import { foundHarnesses, harnessView, type FoundHarness, type HarnessView } from '../runtime/people/harness-view.ts'
import { homeOf } from './engine/home.ts'
import { printLine, printJson, type Io } from './io.ts'
import { safe } from './render.ts'
import type { JsonOption } from './command-options.ts'

const viewOf = async (io: Io, found: FoundHarness): Promise<HarnessView> => {
  if (!found.asks || found.path === null) return harnessView(found, null)
  const { programEnv: env = {} } = drivers[found.driver]
  const said = await askVersion(found.path, { path: io.environment['PATH'], env, signal: io.signal })
  return harnessView(found, cliVersionIn(said) ?? null)
}

/** Outside a repository there is no configuration; the known CLIs are still shown. */
const rootOf = async (io: Io): Promise<string> => {
  try {
    return (await homeOf(io)).repository.root
  } catch (error) {
    if (error instanceof AppError) return io.cwd
    throw error
  }
}

/** Describes the login found in files and variables. The CLI itself is never started, because that would write to its folders. */
export const loginText = ({ login }: Pick<HarnessView, 'login'>): string => {
  const by = login.by === undefined ? '' : ` (${login.by})`
  if (login.state === 'yes') return `credentials found${by}`
  return login.state === 'no' ? 'not logged in' : `login unknown${by}`
}

const versionText = ({ version, known, driver }: HarnessView): string => {
  if (!isKnownHarness(driver)) return 'your own program'
  if (version === null) return `version unknown, treated as ${known.measured}`
  return known.exact ? version : `${version}, not a tested version: treated as ${known.measured}`
}

const commandText: Record<Capabilities['commands'], string> = {
  task: "only the task's commands",
  sandbox: 'commands in its sandbox',
  any: 'any command',
  own: 'commands by its own rules',
}

const capabilityText = ({ known: { capabilities: can } }: HarnessView): string => {
  const retries = { events: 'reports its retries', stderr: 'reports its retries', none: 'does not report its retries' }
  return [
    can.resume ? 'resumes sessions' : 'cannot resume sessions',
    ...(can.directories ? ['can be given directories'] : []),
    `runs ${commandText[can.commands]}`,
    ...(can.toolRules ? ['takes rules for single tools'] : []),
    can.tokens ? `reports tokens${can.cost ? ' and cost' : ''}` : 'reports no usage',
    ...(can.callStarts ? [] : ['reports tool calls only when they end']),
    retries[can.retries],
  ].join(', ')
}

const show = (io: Io, view: HarnessView): void => {
  const mark = view.isDefault ? ' (default)' : ''
  if (view.path === null) return printLine(io, `${view.name}${mark}  not installed: ${safe(view.program)}`)
  printLine(io, `${view.name}${mark}  ${versionText(view)}  ${safe(loginText(view))}  ${safe(view.path)}`)
  printLine(io, `    ${capabilityText(view)}`)
}

export const harnessCommand = async (io: Io, options: JsonOption): Promise<number> => {
  const config = loadConfig({ root: await rootOf(io), environment: io.environment })
  const found = foundHarnesses(realFiles, config, io.environment)
  const views = await Promise.all(found.map((one) => viewOf(io, one)))
  if (options.json === true) printJson(io, views)
  else for (const view of views) show(io, view)
  return exitCodes.ok
}
