/** The open issues of the forge, each with what becomes of it. */
import { AppError } from '../../errors.ts'
import type { Forge, ForgeIssue } from '../../forge/forge.ts'
import { sortIssues, type IssueFate, type IssueLinks, type IssueRules } from '../../recovery/plan/sort-issues.ts'
import { goalsOfIssues } from '../../store/forge-link.ts'
import type { Context } from './context.ts'

/**
 * Each listed issue with its fate. Of those that would start, the issues that they depend on are looked up where they are not listed:
 * those have no label.
 */
const fatesOf = async (
  forge: Forge,
  issues: readonly ForgeIssue[],
  links: Omit<IssueLinks, 'open'>,
  rules: IssueRules,
): Promise<IssueFate[]> => {
  const open = new Set(issues.map(({ number }) => number))
  const first = sortIssues(issues, { ...links, open }, rules)
  const needed = new Set(first.flatMap((fate) => (fate.fate === 'start' ? fate.read.dependsOn : [])))
  for (const number of needed) if (await isOpen(forge, number)) open.add(number)
  return sortIssues(issues, { ...links, open }, rules)
}

/** False = it is closed, or there is none with this number: a pull request, for example. */
const isOpen = async (forge: Forge, number: number): Promise<boolean> => {
  try {
    return (await forge.issue(number)).isOpen
  } catch (error) {
    if (error instanceof AppError && (error.code === 'NOT_FOUND' || error.code === 'INPUT_INVALID')) return false
    throw error
  }
}

interface Seen {
  forge: Forge
  issues: ForgeIssue[]
  fates: IssueFate[]
  pullRequests: number
}

/** Throws `AppError` where the forge cannot be read. */
export const readForge = async (
  context: Pick<Context, 'forge' | 'config'>,
  known: IssueLinks['goals'],
): Promise<Seen> => {
  const rules = context.config().forge
  const forge = await context.forge?.()
  if (forge === undefined) throw new AppError('ENGINE_UNAVAILABLE', 'this process has no access to a forge')
  const [issues, pullRequests] = [await forge.openIssues(rules.label), await forge.openPullRequests()]
  const fates = await fatesOf(forge, issues, { goals: known, pullRequests }, rules)
  return { forge, issues, fates, pullRequests: pullRequests.length }
}

/** Titles of the open issues that are or become work. Throws `AppError` where the forge cannot be read. */
export const waitingIssues = async (context: Context): Promise<string[]> => {
  if (context.config().forge.kind === 'off') return []
  const { issues, fates } = await readForge(context, await goalsOfIssues(context.db))
  const waiting = new Set(fates.filter(({ fate }) => fate !== 'left').map(({ number }) => number))
  return issues.filter(({ number }) => waiting.has(number)).map(({ number, title }) => `#${number} ${title}`)
}
