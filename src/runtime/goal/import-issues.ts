/** Looks at the issues and pull requests of the forge, and makes goals of the issues whose turn it is. */
import { AppError, messageOf } from '../../errors.ts'
import { issueName } from '../../domain/issue-name.ts'
import type { ForgeIssue, IssueSource } from '../../forge/forge.ts'
import type { ForgeBacklog } from '../../recovery/plan/recommend-start.ts'
import { readIssue } from '../../recovery/plan/read-issue.ts'
import type { IssueFate, IssueLinks } from '../../recovery/plan/sort-issues.ts'
import { goalsOfIssues } from '../../store/forge-link.ts'
import type { Context } from '../core/context.ts'
import { hasIssues, readForge } from '../core/forge-issues.ts'
import { createGoal, type GoalOptions } from './create-goal.ts'
import { issueInput } from './issue-input.ts'

const warningOf = (fate: IssueFate): string[] =>
  fate.fate !== 'start' && fate.isWarning === true ? [`Issue ${issueName(fate.id)} is not taken: ${fate.why}`] : []

/** With the settings of the owner alone. It never lands by itself: a person, or the merge of its pull request, decides. */
const optionsOf = (context: Context, { id, url }: ForgeIssue): GoalOptions => ({
  ...{ autoMerge: false, repoMode: context.remote === undefined ? 'local' : 'remote', allowedDirs: [] },
  ...{ harness: null, limits: {}, issue: { id, url } },
})

/** Labels count where the owner named one, and not for the issues of a command. */
const takenFor = ({ config }: Context, { id, url }: ForgeIssue): { id: string; url: string; label?: string } => {
  const { label, command } = config().forge
  return { id, url, ...(label === '' || command !== undefined ? {} : { label }) }
}

/** A person wants it, so its label, its author and the issues before it do not matter. */
export const goalOfIssue = async (context: Context, source: IssueSource, issue: ForgeIssue): Promise<void> => {
  const read = readIssue(issue)
  const input = issueInput(source, issue, { ...read, role: read.role ?? 'worker' })
  await createGoal(context, input, optionsOf(context, issue))
}

interface Taken {
  count: number
  warnings: string[]
}

const take = async (
  context: Context,
  source: IssueSource,
  issues: ForgeIssue[],
  fates: IssueFate[],
): Promise<Taken> => {
  const taken: Taken = { count: 0, warnings: [] }
  for (const fate of fates) {
    const issue = issues.find(({ id }) => id === fate.id)
    if (fate.fate !== 'start' || issue === undefined) continue
    try {
      const options = optionsOf(context, issue)
      await createGoal(context, issueInput(source, issue, fate.read), { ...options, issue: takenFor(context, issue) })
      taken.count += 1
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      taken.warnings.push(`Issue ${issueName(issue.id)} could not be taken: ${error.message}`)
    }
  }
  return taken
}

/** What the forge shows, with `create` after goals were made of the issues whose turn it is. A forge that does not answer is a warning. */
export const forgeBacklog = async (
  context: Pick<Context, 'forge' | 'issues' | 'config'>,
  known: IssueLinks['goals'],
  create?: (source: IssueSource, issues: ForgeIssue[], fates: IssueFate[]) => Promise<Taken>,
): Promise<ForgeBacklog> => {
  if (!hasIssues(context))
    return {
      issueTaskBacklogCount: 0,
      openPrCount: 0,
      warnings: ['Issues and pull requests are not counted: forge.kind is "off"'],
    }
  try {
    const { source, issues, fates, problems, pullRequests } = await readForge(context, known)
    const { warnings = [] } = (await create?.(source, issues, fates)) ?? {}
    return {
      issueTaskBacklogCount: fates.filter(({ fate }) => fate !== 'left').length,
      openPrCount: pullRequests,
      warnings: [...problems, ...fates.flatMap(warningOf), ...warnings],
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { issueTaskBacklogCount: 0, openPrCount: 0, warnings: [`The forge was not read: ${messageOf(error)}`] }
  }
}

/** Makes goals of the issues whose turn it is. */
export const importIssues = async (context: Context): Promise<ForgeBacklog> =>
  forgeBacklog(context, await goalsOfIssues(context.db), (...given) => take(context, ...given))
