/** `unstuck` without a command: lists the agent CLIs found, says where work lands, and suggests commands. */
import { loadConfig, type Config } from '../config/config.ts'
import { defaultHarness } from '../runtime/harness/harness-choice.ts'
import { foundHarnesses, type FoundHarness } from '../runtime/people/harness-view.ts'
import { realFiles } from '../runtime/core/files.ts'
import { exitCodes } from '../errors.ts'
import type { Repository } from '../workspace/repository-types.ts'
import { repositoryName } from '../workspace/remote.ts'
import { findEngine } from './engine/connect.ts'
import { homeOf } from './engine/home.ts'
import { printLine, type Io } from './io.ts'
import { loginText } from './harness.ts'
import { createPaint, safe } from './render.ts'

const harnessText = (found: FoundHarness): string =>
  found.path === null ? 'not found on the PATH' : `installed, ${safe(loginText(found))}`

const landingText = (repository: Repository, config: Config): string => {
  if (repository.commonDir === null)
    return `${repository.root} is not a git repository; only "unstuck run --direct" works here.`
  if (repository.url === undefined && repository.head === null)
    return `${repository.root} has no commit yet; make a first commit before "unstuck run".`
  if (config.repoMode === 'direct' && repository.url === undefined)
    return `Agents work in ${repository.root} itself; no commit is made (repoMode direct).`
  const unnamed = repository.url === undefined ? 'the checked-out branch' : 'its default branch'
  const then = config.autoMerge
    ? ` and then on ${repository.branch ?? unnamed}`
    : '; your own branch stays unchanged until you land the goal'
  return `Work lands on a branch ${config.git.branchPrefix}goal/<id> of ${repositoryName(repository)}${then}.`
}

export const overviewCommand = async (io: Io): Promise<number> => {
  const paint = createPaint(io.colours)
  const home = await homeOf(io)
  const config = loadConfig({ root: home.repository.root, environment: io.environment })
  printLine(io, paint.bold(`Unstuck ${io.version}: runs coding agents until the work is done, and gets them unstuck.`))
  for (const found of foundHarnesses(realFiles, config, io.environment))
    printLine(io, `  ${found.name.padEnd(10)} ${harnessText(found)}`)
  const used = defaultHarness(realFiles, config, io.environment.PATH)
  printLine(io, `  Default harness: ${used ?? 'none yet (install claude or codex, or set harness.default)'}`)
  printLine(io, landingText(home.repository, config))
  const running = (await findEngine(home)) !== undefined
  printLine(
    io,
    running
      ? 'The engine is running; "unstuck status" shows its work.'
      : 'No engine is running; "unstuck run" starts one.',
  )
  printLine(io)
  printLine(io, 'Try:')
  printLine(io, `  unstuck run "Fix the failing test in src/parser"`)
  printLine(io, '  unstuck demo')
  return exitCodes.ok
}
