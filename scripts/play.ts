/**
 * `npm run play`: a scratch repository whose scripted agents fail in different ways, opened in the dashboard. No model and no account is
 * used. It runs until Ctrl-C, then ends its processes and removes its folder.
 */
import { upCommand } from '../src/cli/engine/up.ts'
import { printLine } from '../src/cli/io.ts'
import { scenarioLines, startGoal, untilReady } from './play/start-goal.ts'
import { ioIn, scriptIo, withScratch } from './play/stage.ts'

const io = scriptIo()

await withScratch(io, { prefix: 'unstuck-play-' }, async (scratch) => {
  for (const line of ['Tasks with scripted agents:', ...scenarioLines(), '']) printLine(io, line)
  printLine(io, `Repository: ${scratch.repository} (UNSTUCK_HOME=${scratch.environment.UNSTUCK_HOME})`)
  printLine(io, 'Ctrl-C ends everything and removes the folder.')
  const ended = new AbortController()
  const here = { ...ioIn(io, scratch), signal: AbortSignal.any([io.signal, ended.signal]) }
  const begun = untilReady(here).then((client) => client && startGoal(here, scratch))
  try {
    process.exitCode = await upCommand(here, {})
  } finally {
    ended.abort() // an engine that cannot start is no longer waited for
    await begun
  }
})
