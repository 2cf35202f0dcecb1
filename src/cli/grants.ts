/** The work of `unstuck grants`: lists granted and learned paths, and changes them. */
import { isAbsolute, relative, sep } from 'node:path'
import type { Grant, GrantList, LearnedPath } from '../api/contract.ts'
import { evidenceText, grantedTo } from '../domain/path-grant.ts'
import { AppError, exitCodes } from '../errors.ts'
import type { JsonOption } from './command-options.ts'
import { connectToExisting } from './engine/connect-to-change.ts'
import { homeOf } from './engine/home.ts'
import { readOnly } from './engine/read-only.ts'
import { printLine, printJson, type Io } from './io.ts'
import { createPaint, safe, type Paint } from './render.ts'
import { countText, whenText } from './times.ts'
import { userName } from './user-name.ts'
import { defined } from '../domain/defined.ts'

export interface GrantsCommandOptions extends JsonOption {
  area?: string
  task?: string
  why?: string
  all?: boolean
}

const usage = (text: string): AppError => new AppError('USAGE', text)

/** When an entry ends by itself, or why it has ended. `by` is the person who ended it. */
const endText = ({ ended, endsAt }: { ended: string | null; endsAt: string }, by: string | null, now: Date): string => {
  if (ended === null) return `ends ${whenText(endsAt, now)} if unused`
  return by === null || ended === by ? `ended: ${ended}` : `${ended} by ${by}`
}

const giverText = ({ grantedBy, rule }: Grant): string => {
  if (rule === 'person') return grantedBy
  return grantedBy === 'model' ? 'a model' : `the rule ${rule}`
}

const grantLines = (paint: Paint, grant: Grant, now: Date): string[] => [
  `  ${paint.bold(safe(grant.path))} for ${safe(grantedTo(grant))} ${paint.dim(`[${grant.id}]`)}`,
  `      granted by ${safe(giverText(grant))} ${whenText(grant.grantedAt, now)}: ${safe(grant.why)}`,
  `      ${paint.dim(`${grant.uses === 0 ? 'no run used it' : `used by ${countText(grant.uses, 'run')}, last ${whenText(grant.lastUsedAt, now)}`}; ${safe(endText(grant, grant.revokedBy, now))}`)}`,
]

const learnedLines = (paint: Paint, learned: LearnedPath, now: Date): string[] => [
  `  ${paint.bold(safe(learned.path))}: ${safe(evidenceText(learned.evidence))}`,
  `      ${paint.dim(`learned ${whenText(learned.learnedAt, now)}, seen in ${countText(learned.seen, 'run')}, last ${whenText(learned.lastSeenAt, now)}; ${safe(endText(learned, learned.undoneBy, now))}`)}`,
]

const show = (io: Io, { grants, learned }: GrantList): void => {
  const [paint, now] = [createPaint(io.colours), new Date()]
  if (grants.length + learned.length === 0) {
    printLine(io, 'No path is granted, and none was learned as generated.')
    printLine(io, 'To grant one: unstuck grants add <path> --area <folder> --why "…"')
    return
  }
  if (grants.length > 0) printLine(io, 'Tasks may change these paths in addition to their own:')
  for (const grant of grants) for (const text of grantLines(paint, grant, now)) printLine(io, text)
  if (learned.length > 0)
    printLine(io, 'These paths count as generated and are left out of the work, unless git tracks them:')
  for (const entry of learned) for (const text of learnedLines(paint, entry, now)) printLine(io, text)
}

const list = async (io: Io, { all, json }: GrantsCommandOptions): Promise<number> => {
  const found = await readOnly(io, ({ client }) => client.get<GrantList>(`/grants${all === true ? '?state=all' : ''}`))
  if (json === true) printJson(io, found)
  else show(io, found)
  return exitCodes.ok
}

/** An absolute path inside the checkout, as a shell completes it, becomes relative to the top. */
const insidePath = async (io: Io, text: string): Promise<string> => {
  if (!isAbsolute(text)) return text
  const { root } = (await homeOf(io)).repository
  const path = relative(root, text)
  if (path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path))
    throw new AppError('INPUT_INVALID', `${text} is outside the repository ${root}; name a path inside it`)
  return path === '' ? '.' : path
}

const add = async (io: Io, path: string, options: GrantsCommandOptions): Promise<number> => {
  const { area, task, why, json } = options
  const who = [area === undefined ? '' : ` --area ${area}`, task === undefined ? '' : ` --task ${task}`].join('')
  if (area !== undefined && task !== undefined)
    throw usage('--area and --task exclude each other: a grant is for the tasks of a folder or for one task')
  if (who === '')
    throw usage(
      `say who may change ${path}: unstuck grants add ${path} --area <folder> --why "…" (or --task <id> for one task)`,
    )
  if ((why ?? '').trim() === '') throw usage(`--why is missing: unstuck grants add ${path}${who} --why "<reason>"`)
  const body = {
    path: await insidePath(io, path),
    ...(area === undefined ? {} : { area: await insidePath(io, area) }),
    ...defined({ task, why }),
    by: userName(),
  }
  const client = await connectToExisting(io)
  const grant = await client.post<Grant>('/grants', body)
  if (json === true) printJson(io, grant)
  else {
    printLine(io, `${safe(grant.path)} may now be changed by ${safe(grantedTo(grant))} [${grant.id}]`)
    printLine(
      io,
      `it ends ${whenText(grant.endsAt, new Date())} if unused; to revoke it: unstuck grants revoke ${grant.id}`,
    )
  }
  return exitCodes.ok
}

const revoke = async (io: Io, name: string, { json }: GrantsCommandOptions): Promise<number> => {
  const client = await connectToExisting(io)
  const revoked = await client.post<Grant[]>('/grants/revoke', { grant: await insidePath(io, name), by: userName() })
  if (json === true) printJson(io, revoked)
  else
    for (const grant of revoked)
      printLine(io, `${safe(grant.path)} may no longer be changed by ${safe(grantedTo(grant))} [${grant.id}]`)
  return exitCodes.ok
}

const forget = async (io: Io, path: string, { json }: GrantsCommandOptions): Promise<number> => {
  const client = await connectToExisting(io)
  const body = { path: await insidePath(io, path), by: userName() }
  const learned = await client.post<LearnedPath>('/learned-paths/forget', body)
  if (json === true) printJson(io, learned)
  else {
    printLine(io, `${safe(learned.path)} no longer counts as generated`)
    printLine(io, 'it is learned again only if another command makes it')
  }
  return exitCodes.ok
}

const actions = { add, revoke, forget }

const refuseOptions = (action: string | undefined, options: GrantsCommandOptions): void => {
  const given = (['area', 'task', 'why'] as const).find((name) => options[name] !== undefined)
  if (action !== 'add' && given !== undefined) throw usage(`--${given} belongs to "unstuck grants add <path>"`)
  if (action !== undefined && options.all === true) throw usage('--all belongs to the list: unstuck grants --all')
}

export const grantsCommand = async (
  io: Io,
  [action, path]: [action: string | undefined, path: string | undefined],
  options: GrantsCommandOptions,
): Promise<number> => {
  refuseOptions(action, options)
  if (action === undefined) return list(io, options)
  const what = action === 'revoke' ? '<path or id>' : '<path>'
  if (path === undefined || path === '') throw usage(`name the path: unstuck grants ${action} ${what}`)
  return actions[action as keyof typeof actions](io, path, options)
}
