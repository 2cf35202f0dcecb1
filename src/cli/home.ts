/** Bare `unstuck`: which agent CLIs are here, where work would land, and what to try. */
import { loadConfig, type Config } from '../config.ts'
import { defaultHarness } from '../runtime/harness/harness-choice.ts'
import { foundHarnesses, type FoundHarness } from '../runtime/people/harness-view.ts'
import { realFiles } from '../runtime/core/files.ts'
import { exitCodes } from '../errors.ts'
import type { Repository } from '../workspace/contract.ts'
import { repositoryName } from '../workspace/remote.ts'
import { findEngine } from './engine/connect.ts'
import { placeOf } from './engine/place.ts'
import { line, type Io } from './io.ts'
import { loginText } from './harness.ts'
import { createPaint, safe } from './render.ts'

const harnessText = (found: FoundHarness): string =>
  found.path === null ? 'not found on the PATH' : `installed, ${safe(loginText(found))}`

const landingText = (repository: Repository, config: Config): string => {
  if (repository.commonDir === null)
    return `${repository.root} is no git repository: only "unstuck run --direct" works here.`
  if (config.repoMode === 'direct' && repository.url === undefined)
    return `Agents work in place in ${repository.root}; no commit is made (repoMode direct).`
  const unnamed = repository.url === undefined ? 'the checked-out branch' : 'the branch that its HEAD names'
  const then = config.autoMerge
    ? ` and then on ${repository.branch ?? unnamed}`
    : '; your branch stays as it is until you merge'
  return `Work lands on a branch unstuck/goal/<id> of ${repositoryName(repository)}${then}.`
}

export const home = async (io: Io): Promise<number> => {
  const paint = createPaint(io.colours)
  const place = await placeOf(io)
  const config = loadConfig({ root: place.repository.root, environment: io.environment })
  line(io, paint.bold(`Unstuck ${io.version}: runs coding agents until the work is done, and gets them unstuck.`))
  for (const found of foundHarnesses(realFiles, config, io.environment))
    line(io, `  ${found.name.padEnd(10)} ${harnessText(found)}`)
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
