/** Bare `unstuck`: which agent CLIs are here, where work would land, and what to try. */
import { driverNamed } from '../harness/drivers.ts'
import { loadConfig, type Config } from '../config.ts'
import { defaultHarness, harnessNames } from '../runtime/harness/harness-choice.ts'
import { findProgram } from '../runtime/harness/program.ts'
import { realFiles } from '../runtime/core/files.ts'
import { exitCodes } from '../errors.ts'
import type { Repository } from '../workspace/contract.ts'
import { repositoryName } from '../workspace/remote.ts'
import { findEngine } from './engine/connect.ts'
import { placeOf } from './engine/place.ts'
import { line, type Io } from './io.ts'
import { createPaint } from './render.ts'
import { execa } from 'execa'

/** Commands of the CLIs that report the login status and change nothing. */
const loginChecks: Record<string, string[]> = { claude: ['auth', 'status'], codex: ['login', 'status'] }

const loginText = async (io: Io, name: string, program: string): Promise<string> => {
  const args = loginChecks[name]
  if (args === undefined) return 'installed'
  const result = await execa(program, args, {
    reject: false,
    timeout: 10_000,
    stdin: 'ignore',
    env: io.environment as Record<string, string>,
    extendEnv: false,
  })
  return result.exitCode === 0 ? 'installed, logged in' : 'installed, not logged in'
}

const harnessText = async (io: Io, config: Config, name: string): Promise<string> => {
  const command = config.harness.named[name]?.command
  const program = command?.[0] ?? driverNamed(name)?.defaultProgram ?? null
  const found = program === null ? undefined : findProgram(realFiles, program, io.environment.PATH)
  if (found === undefined) return 'not found on the PATH'
  return loginText(io, command === undefined ? name : '', found)
}

const landingText = (repository: Repository, { autoMerge }: Config): string => {
  if (repository.commonDir === null)
    return `${repository.root} is no git repository: only "unstuck run --direct" works here.`
  const unnamed = repository.url === undefined ? 'the checked-out branch' : 'the branch that its HEAD names'
  const then = autoMerge
    ? ` and then on ${repository.branch ?? unnamed}`
    : '; your branch stays as it is until you merge'
  return `Work lands on a branch unstuck/goal/<id> of ${repositoryName(repository)}${then}.`
}

export const home = async (io: Io): Promise<number> => {
  const paint = createPaint(io.colours)
  const place = await placeOf(io)
  const config = loadConfig({ root: place.repository.root, environment: io.environment })
  line(io, paint.bold(`Unstuck ${io.version}: runs coding agents until the work is done, and gets them unstuck.`))
  for (const name of harnessNames(config)) line(io, `  ${name.padEnd(10)} ${await harnessText(io, config, name)}`)
  const used = defaultHarness(realFiles, config, io.environment.PATH)
  line(
    io,
    `  Tasks that name no harness go to: ${used ?? 'none yet (install claude or codex, or set harness.default)'}`,
  )
  line(io, landingText(place.repository, config))
  const running = (await findEngine(place)) !== undefined
  line(io, running ? 'An engine runs here: unstuck status' : 'No engine runs here; "unstuck run" starts one.')
  line(io)
  line(io, 'Try:')
  line(io, `  unstuck run "Fix the failing test in src/parser"`)
  line(io, '  unstuck demo')
  return exitCodes.ok
}
