/** The work of `unstuck preflight`. */
import type { PreflightJson } from '../api/contract.ts'
import { forgeHere } from '../api/forge-here.ts'
import { loadConfig } from '../config/config.ts'
import { exitCodes } from '../errors.ts'
import { preflightOf } from '../recovery/plan/recommend-start.ts'
import { forgeBacklog } from '../runtime/goal/import-issues.ts'
import { configuredDatabase } from '../store/postgres-location.ts'
import { hadStore } from '../store/store-markers.ts'
import type { JsonOption } from './command-options.ts'
import { homeOf } from './engine/home.ts'
import { readOnly } from './engine/read-only.ts'
import { printJson, printLine, type Io } from './io.ts'
import { safe } from './render.ts'
import { countText } from './times.ts'

const openedText = ({ recommendations }: PreflightJson): string => {
  const { startPlanner, startJudge, workerCount, testerCount, docserCount } = recommendations
  const opened = [
    ...(startPlanner ? ['the planner'] : []),
    ...(workerCount === 0 ? [] : [`at most ${countText(workerCount, 'worker')}`]),
    ...(testerCount === 0 ? [] : [countText(testerCount, 'tester')]),
    ...(docserCount === 0 ? [] : [countText(docserCount, 'docser')]),
    ...(startJudge ? ['the judge'] : []),
  ]
  return `A start would open: ${opened.length === 0 ? 'nothing' : opened.join(', ')}.`
}

const waitingText = ({ preflight: { local, pendingJudgeTaskCount, ...forge } }: PreflightJson): string =>
  `${forge.issueTaskBacklogCount + forge.openPrCount === 0 ? '' : `Forge: ${countText(forge.issueTaskBacklogCount, 'issue')} to work on, ${countText(forge.openPrCount, 'open pull request')}. `}Tasks: ${local.queued} queued, ${local.running} running, ${local.failed} failed, ${local.blocked} blocked (of these, ${pendingJudgeTaskCount} before the judge).`

/** Where nothing has been run yet, nothing can wait. */
const preflightHere = async (io: Io, content: string): Promise<PreflightJson> => {
  const { repository, stateDir } = await homeOf(io)
  if (configuredDatabase(io.environment, repository.id) !== undefined || hadStore(stateDir))
    return readOnly(io, ({ client }) =>
      client.post<PreflightJson>('/system/preflight', { content, autoCreateIssueTasks: false }),
    )
  const nothing = { local: { queued: 0, running: 0, failed: 0, blocked: 0 }, pendingJudgeTaskCount: 0 }
  const config = () => loadConfig({ root: repository.root, environment: io.environment })
  const sources = forgeHere({ repository, environment: io.environment, config })
  return preflightOf(content, nothing, await forgeBacklog({ config, ...sources }, new Map()), config())
}

export const preflightCommand = async (io: Io, content: string, { json = false }: JsonOption): Promise<number> => {
  const view = await preflightHere(io, content)
  if (json) {
    printJson(io, view)
    return exitCodes.ok
  }
  const { reasons, warnings } = view.recommendations
  const about = reasons.map((reason) => `  ${reason}`)
  const others = warnings.filter((warning) => !reasons.includes(warning))
  for (const text of [openedText(view), waitingText(view), ...about]) printLine(io, safe(text))
  for (const text of others) printLine(io, safe(`  ${text}`))
  return exitCodes.ok
}
