/** The open issues of the forge, each with what becomes of it. */
import { AppError } from '../../errors.ts'
import { issueName } from '../../domain/issue-name.ts'
import type { ForgeIssue, IssueSource } from '../../forge/forge.ts'
import { sortIssues, type IssueFate, type IssueLinks, type IssueRules } from '../../recovery/plan/sort-issues.ts'
import { goalsOfIssues } from '../../store/forge-link.ts'
import type { Context } from './context.ts'

/**
 * Each listed issue with its fate. Of those that would start, the issues that they depend on are looked up where they are not listed:
 * those have no label.
 */
const fatesOf = async (
  source: IssueSource,
  issues: readonly ForgeIssue[],
  links: Omit<IssueLinks, 'open'>,
  rules: IssueRules,
): Promise<IssueFate[]> => {
  const open = new Set(issues.map(({ id }) => id))
  const first = sortIssues(issues, { ...links, open }, rules)
  const needed = new Set(first.flatMap((fate) => (fate.fate === 'start' ? fate.read.dependsOn : [])))
  for (const id of needed) if (await isOpen(source, id)) open.add(id)
  return sortIssues(issues, { ...links, open }, rules)
}

/** False = it is closed, or there is none: a pull request, for example. */
const isOpen = async (source: IssueSource, id: string): Promise<boolean> => {
  try {
    return (await source.issue(id)).isOpen
  } catch (error) {
    if (error instanceof AppError && (error.code === 'NOT_FOUND' || error.code === 'INPUT_INVALID')) return false
    throw error
  }
}

/** Whether the owner has named a source of issues. */
export const hasIssues = ({ config }: Pick<Context, 'config'>): boolean => {
  const { kind, command } = config().forge
  return kind !== 'off' || command !== undefined
}

interface Seen {
  source: IssueSource
  issues: ForgeIssue[]
  fates: IssueFate[]
  /** What could not be read, in words. */
  problems: string[]
  pullRequests: number
}

/** Throws `AppError` where the forge cannot be read. */
export const readForge = async (
  context: Pick<Context, 'forge' | 'issues' | 'config'>,
  known: IssueLinks['goals'],
): Promise<Seen> => {
  const rules = context.config().forge
  const source = await context.issues?.()
  if (source === undefined) throw new AppError('ENGINE_UNAVAILABLE', 'this process has no access to issues')
  const { issues, problems } = await source.openIssues(rules.label)
  const pullRequests = (await (await context.forge?.())?.openPullRequests()) ?? []
  const fates = await fatesOf(source, issues, { goals: known, pullRequests }, rules)
  return { source, issues, fates, problems, pullRequests: pullRequests.length }
}

/** Titles of the open issues that are or become work. Throws `AppError` where the forge cannot be read. */
export const waitingIssues = async (context: Context): Promise<string[]> => {
  if (!hasIssues(context)) return []
  const { issues, fates } = await readForge(context, await goalsOfIssues(context.db))
  const waiting = new Set(fates.filter(({ fate }) => fate !== 'left').map(({ id }) => id))
  return issues.filter(({ id }) => waiting.has(id)).map(({ id, title }) => `${issueName(id)} ${title}`)
}
