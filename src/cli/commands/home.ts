/** Bare `unstuck`: which agent CLIs are here, where work would land, and what to try. */
import { driverNamed } from '../../harness/drivers.ts'
import { loadConfig } from '../../config.ts'
import { defaultHarness, harnessNames } from '../../runtime/harness-choice.ts'
import { findProgram } from '../../runtime/launch.ts'
import { realFiles } from '../../runtime/files.ts'
import { exitCodes } from '../../errors.ts'
import { repositoryName } from '../../workspace/remote.ts'
import { findEngine, placeOf } from '../client.ts'
import { line, type Io } from '../io.ts'
import { createPaint } from '../render.ts'
import { execa } from 'execa'

/** Commands of the CLIs that tell whether somebody is logged in, without touching anything. */
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

export const home = async (io: Io): Promise<number> => {
  const paint = createPaint(io.colours)
  const place = await placeOf(io)
  const { repository } = place
  const config = loadConfig({ root: repository.root, environment: io.environment })
  line(io, paint.bold(`Unstuck ${io.version}: runs coding agents until the work is done, and gets them unstuck.`))
  for (const name of harnessNames(config)) {
    const program = config.harness.named[name]?.command?.[0] ?? driverNamed(name)?.defaultProgram ?? null
    const found = program === null ? undefined : findProgram(realFiles, program, io.environment.PATH)
    line(
      io,
      `  ${name.padEnd(10)} ${found === undefined ? 'not found on the PATH' : await loginText(io, config.harness.named[name]?.command === undefined ? name : '', found)}`,
    )
  }
  const used = defaultHarness(realFiles, config, io.environment.PATH)
  line(
    io,
    `  Tasks that name no harness go to: ${used ?? 'none yet (install claude or codex, or set harness.default)'}`,
  )
  if (repository.commonDir === null)
    line(io, `${repository.root} is no git repository: only "unstuck run --direct" works here.`)
  else
    line(
      io,
      `Work lands on a branch unstuck/goal/<id> of ${repositoryName(repository)}${config.autoMerge ? ` and then on ${repository.branch ?? (repository.url === undefined ? 'the checked-out branch' : 'the branch that its HEAD names')}` : '; your branch stays as it is until you merge'}.`,
    )
  line(
    io,
    (await findEngine(place)) === undefined
      ? 'No engine runs here; "unstuck run" starts one.'
      : 'An engine runs here: unstuck status',
  )
  line(io)
  line(io, 'Try:')
  line(io, `  unstuck run "Fix the failing test in src/parser"`)
  line(io, '  unstuck demo')
  return exitCodes.ok
}
