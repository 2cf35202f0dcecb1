/** The work of `unstuck harness`: which agent CLIs are here, in which version, with credentials or not, and what they can do. */
import { loadConfig } from '../config.ts'
import { AppError, exitCodes } from '../errors.ts'
import { versionIn } from '../harness/capabilities.ts'
import type { Capabilities } from '../harness/capabilities.ts'
import { drivers } from '../harness/drivers.ts'
import { isKnownHarness } from '../harness/names.ts'
import { askVersion } from '../process/version.ts'
import { realFiles } from '../runtime/core/files.ts'
import { foundHarnesses, harnessView, type FoundHarness, type HarnessView } from '../runtime/people/harness-view.ts'
import { placeOf } from './engine/place.ts'
import { line, printJson, type Io } from './io.ts'
import { safe } from './render.ts'
import type { JsonOption } from './command.ts'

const viewOf = async (io: Io, found: FoundHarness): Promise<HarnessView> => {
  if (!found.asks || found.path === null) return harnessView(found, null)
  const { programEnv: env = {} } = drivers[found.driver]
  const said = await askVersion(found.path, { path: io.environment['PATH'], env, signal: io.signal })
  return harnessView(found, versionIn(said) ?? null)
}

/** Outside of a repository there is no configuration, and the known CLIs are shown all the same. */
const rootOf = async (io: Io): Promise<string> => {
  try {
    return (await placeOf(io)).repository.root
  } catch (error) {
    if (error instanceof AppError) return io.cwd
    throw error
  }
}

/** As every command says it: from files and variables alone, as asking a CLI would write to its folders. */
export const loginText = ({ login }: Pick<HarnessView, 'login'>): string => {
  const by = login.by === undefined ? '' : ` (${login.by})`
  if (login.state === 'yes') return `credentials found${by}`
  return login.state === 'no' ? 'not logged in' : `login unknown${by}`
}

const versionText = ({ version, known, driver }: HarnessView): string => {
  if (!isKnownHarness(driver)) return 'of your own'
  if (version === null) return `version unknown, taken for ${known.measured}`
  return known.exact ? version : `${version}, not measured: taken for ${known.measured}`
}

const commandText: Record<Capabilities['commands'], string> = {
  task: "the task's commands alone",
  sandbox: 'commands in its sandbox',
  any: 'any command',
  own: 'as it likes',
}

const abilityText = ({ known: { capabilities: can } }: HarnessView): string => {
  const retries = { events: 'tells of its retries', stderr: 'tells of its retries', none: 'silent about its retries' }
  return [
    can.resume ? 'resumes sessions' : 'no resume',
    ...(can.directories ? ['opens directories'] : []),
    `runs ${commandText[can.commands]}`,
    ...(can.toolRules ? ['knows rules for single tools'] : []),
    can.tokens ? `counts tokens${can.cost ? ' and cost' : ''}` : 'counts nothing',
    ...(can.callStarts ? [] : ['tells of tool calls when they are over']),
    retries[can.retries],
  ].join(', ')
}

const show = (io: Io, view: HarnessView): void => {
  const mark = view.isDefault ? ' (default)' : ''
  if (view.path === null) return line(io, `${view.name}${mark}  not installed: ${safe(view.program)}`)
  line(io, `${view.name}${mark}  ${versionText(view)}  ${safe(loginText(view))}  ${safe(view.path)}`)
  line(io, `    ${abilityText(view)}`)
}

export const harness = async (io: Io, options: JsonOption): Promise<number> => {
  const config = loadConfig({ root: await rootOf(io), environment: io.environment })
  const found = foundHarnesses(realFiles, config, io.environment)
  const views = await Promise.all(found.map((one) => viewOf(io, one)))
  if (options.json === true) printJson(io, views)
  else for (const view of views) show(io, view)
  return exitCodes.ok
}
