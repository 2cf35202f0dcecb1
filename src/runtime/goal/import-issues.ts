/** Looks at the issues and pull requests of the forge, and makes goals of the issues whose turn it is. */
import { AppError, messageOf } from '../../errors.ts'
import type { Forge, ForgeIssue } from '../../forge/forge.ts'
import type { ForgeBacklog } from '../../recovery/plan/recommend-start.ts'
import type { IssueFate, IssueLinks } from '../../recovery/plan/sort-issues.ts'
import { goalsOfIssues } from '../../store/forge-link.ts'
import type { Context } from '../core/context.ts'
import { readForge } from '../core/forge-issues.ts'
import { createGoal, type GoalOptions } from './create-goal.ts'
import { issueInput } from './issue-input.ts'

const warningOf = (fate: IssueFate): string[] =>
  fate.fate !== 'start' && fate.isWarning === true ? [`Issue #${fate.number} is not taken: ${fate.why}`] : []

/** With the settings of the owner alone. It never lands by itself: a person, or the merge of its pull request, decides. */
const optionsOf = (context: Context, { number, url }: ForgeIssue): GoalOptions => ({
  ...{ autoMerge: false, repoMode: context.remote === undefined ? 'local' : 'remote', allowedDirs: [] },
  ...{ harness: null, limits: {}, issue: { number, url } },
})

interface Taken {
  count: number
  warnings: string[]
}

const take = async (context: Context, forge: Forge, issues: ForgeIssue[], fates: IssueFate[]): Promise<Taken> => {
  const taken: Taken = { count: 0, warnings: [] }
  for (const fate of fates) {
    const issue = issues.find(({ number }) => number === fate.number)
    if (fate.fate !== 'start' || issue === undefined) continue
    try {
      await createGoal(context, issueInput(forge, issue, fate.read), optionsOf(context, issue))
      taken.count += 1
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      taken.warnings.push(`Issue #${issue.number} could not be taken: ${error.message}`)
    }
  }
  return taken
}

/** What the forge shows, with `create` after goals were made of the issues whose turn it is. A forge that does not answer is a warning. */
export const forgeBacklog = async (
  context: Pick<Context, 'forge' | 'config'>,
  known: IssueLinks['goals'],
  create?: (forge: Forge, issues: ForgeIssue[], fates: IssueFate[]) => Promise<Taken>,
): Promise<ForgeBacklog> => {
  if (context.config().forge.kind === 'off')
    return {
      issueTaskBacklogCount: 0,
      openPrCount: 0,
      warnings: ['Issues and pull requests are not counted: forge.kind is "off"'],
    }
  try {
    const { forge, issues, fates, pullRequests } = await readForge(context, known)
    const { warnings = [] } = (await create?.(forge, issues, fates)) ?? {}
    return {
      issueTaskBacklogCount: fates.filter(({ fate }) => fate !== 'left').length,
      openPrCount: pullRequests,
      warnings: [...fates.flatMap(warningOf), ...warnings],
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { issueTaskBacklogCount: 0, openPrCount: 0, warnings: [`The forge was not read: ${messageOf(error)}`] }
  }
}

/** Makes goals of the issues whose turn it is. */
export const importIssues = async (context: Context): Promise<ForgeBacklog> =>
  forgeBacklog(context, await goalsOfIssues(context.db), (...given) => take(context, ...given))
