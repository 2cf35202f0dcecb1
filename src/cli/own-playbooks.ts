/** The work of `unstuck playbook list`, `test` and `draft`. Nothing is run and nothing is changed. */
import type { ConfigStateView, Run } from '../api/contract.ts'
import { loadConfig } from '../config/config.ts'
import { AppError, exitCodes, messageOf } from '../errors.ts'
import { loadPlaybook, playbookFolder, playbookNames, playbookPath } from '../config/playbook-files.ts'
import { classify } from '../recovery/diagnosis/classify.ts'
import { playbooks } from '../recovery/ladder.ts'
import { draftOf } from '../recovery/own/draft-own.ts'
import { ownText } from '../recovery/own/describe-own.ts'
import { fitOf, type OwnSubject } from '../recovery/own/match-own.ts'
import { budgetOf, ownId, postConditionOf, type OwnPlaybook } from '../recovery/own/own-playbook.ts'
import { isAutoApproved } from '../recovery/proposal/match.ts'
import type { JsonOption } from './command-options.ts'
import { findEngine } from './engine/connect.ts'
import { homeOf } from './engine/home.ts'
import { readOnly } from './engine/read-only.ts'
import { printJson, printLine, type Io } from './io.ts'
import { readLog } from './read-log.ts'
import { createPaint, safe } from './render.ts'
import { defined } from '../domain/defined.ts'

interface OwnEntry {
  name: string
  file: string
  /** `waiting`: an agent could have written it, so a person has to confirm it; until then it does nothing. */
  state: 'valid' | 'invalid' | 'waiting'
  problem?: string
  playbook?: OwnPlaybook
}

const entryOf = (root: string, name: string, waiting: readonly string[]): OwnEntry[] => {
  const file = playbookPath(root, name)
  try {
    const playbook = loadPlaybook(root, name)
    const state = waiting.includes(`playbook.${name}`) ? 'waiting' : 'valid'
    return playbook === undefined ? [] : [{ name, file, state, playbook }]
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [{ name, file, state: 'invalid', problem: messageOf(error) }]
  }
}

/** Keys that wait for a confirmation, as the running engine knows. */
const waitingKeys = async (io: Io): Promise<string[]> => {
  const client = await findEngine(await homeOf(io))
  const state = await client?.get<ConfigStateView>('/config')
  return state?.waiting?.changes.map(({ key }) => key) ?? []
}

const ownOf = async (io: Io): Promise<{ root: string; own: OwnEntry[]; problems: string[] }> => {
  const { root } = (await homeOf(io)).repository
  const { names, problems } = playbookNames(root)
  const waiting = names.length === 0 ? [] : await waitingKeys(io)
  return { root, problems, own: names.flatMap((name) => entryOf(root, name, waiting)) }
}

/** Why a command of the playbook does not run by itself; undefined = it does, or the playbook has none. */
const cautionOf = (io: Io, root: string, { action }: OwnPlaybook): string | undefined => {
  if (action.type !== 'run') return undefined
  const { recovery } = loadConfig({ root, environment: io.environment })
  if (recovery?.enabled !== true)
    return 'its command never runs: there is no "recovery" section in .unstuck/config.json, or recovery.enabled is false'
  return isAutoApproved(action.command, recovery)
    ? undefined
    : 'its command is not in recovery.auto_approve, so recovery.on_unknown decides: refuse it, ask you, or let it run'
}

const builtIn = (disabled: readonly string[]) =>
  playbooks.map(({ id, rung, title, labels, budget }) => ({
    ...{ id, rung, title, labels, budget, disabled: disabled.includes(id) },
  }))

const shownEntry = (entry: OwnEntry, caution: string | undefined): object => {
  const { playbook, ...rest } = entry
  return {
    ...rest,
    id: ownId(entry.name),
    ...(playbook && {
      ...{ title: playbook.title, does: ownText(playbook), action: playbook.action, then: playbook.then },
      ...{ budget: budgetOf(playbook), postCondition: postConditionOf(playbook) ?? null },
    }),
    ...defined({ caution }),
  }
}

/** A file with several mistakes has a line for each. */
const problemText = (problem: string): string => `✗ ${problem.split('\n').map(safe).join('\n      ')}`

const printOwn = (io: Io, { name, state, problem, playbook }: OwnEntry, caution: string | undefined): void => {
  if (playbook === undefined) return printLine(io, `  ${problemText(problem ?? '')}`)
  const paint = createPaint(io.colours)
  printLine(io, `  ${paint.bold(ownId(name))}  ${safe(playbook.title)}`)
  printLine(io, `    ${safe(ownText(playbook))}`)
  if (state === 'waiting') printLine(io, `    ${paint.bad('not in use yet: see "unstuck config confirm"')}`)
  if (caution !== undefined) printLine(io, `    ${caution}`)
}

export const playbookListCommand = async (io: Io, options: JsonOption): Promise<number> => {
  const { root, own, problems } = await ownOf(io)
  const { disabled } = loadConfig({ root, environment: io.environment }).playbooks
  const entries = own.map((entry) => ({ entry, caution: entry.playbook && cautionOf(io, root, entry.playbook) }))
  const isBroken = problems.length > 0 || own.some(({ state }) => state === 'invalid')
  const code = isBroken ? exitCodes.config : exitCodes.ok
  if (options.json === true) {
    const shown = entries.map(({ entry, caution }) => shownEntry(entry, caution))
    printJson(io, { own: shown, problems, builtIn: builtIn(disabled) })
    return code
  }
  printLine(io, `Your playbooks (${playbookFolder}), which go first, in this order:`)
  for (const { entry, caution } of entries) printOwn(io, entry, caution)
  for (const problem of problems) printLine(io, `  ${problemText(problem)}`)
  if (own.length === 0 && problems.length === 0) printLine(io, '  none; how to write one: docs/playbooks.md')
  printLine(io, 'Built-in playbooks (docs/recovery.md):')
  for (const { id, title, disabled: isOff } of builtIn(disabled))
    printLine(io, `  ${id}${isOff ? ' (disabled)' : ''}  ${title}`)
  return code
}

export interface TestOptions extends JsonOption {
  exit?: number
  command?: string
  harness?: string
  stream?: 'stdout' | 'stderr'
  agent?: true
}

/** A log holds both streams of a command, unless the option says which one it is. */
const subjectOf = (log: string, { exit, command, harness, stream, agent }: TestOptions): OwnSubject => ({
  ...{ failure: agent === true ? 'agent' : 'check', harness: harness ?? '', exitCode: exit ?? null },
  ...defined({ command }),
  stdout: stream === 'stderr' ? '' : log,
  stderr: stream === 'stdout' ? '' : log,
})

export const playbookTestCommand = async (io: Io, file: string, options: TestOptions): Promise<number> => {
  const log = await readLog(io, file)
  const { root, own, problems } = await ownOf(io)
  const subject = subjectOf(log, options)
  const judged = own.flatMap(({ name, state, playbook }) =>
    playbook === undefined ? [] : [{ name, state, playbook, fit: fitOf(playbook, subject) }],
  )
  const matches = judged.flatMap(({ name, state, playbook, fit }) => {
    const caution = cautionOf(io, root, playbook)
    return 'line' in fit
      ? [{ name, id: ownId(name), state, line: fit.line, does: ownText(playbook), ...(caution && { caution }) }]
      : []
  })
  const others = judged.flatMap(({ name, fit }) => ('why' in fit ? [{ name, why: fit.why }] : []))
  const broken = [...problems, ...own.flatMap(({ problem }) => problem ?? [])]
  const found = classify({
    command: options.command ?? '',
    exitCode: options.exit ?? null,
    signal: null,
    stdout: '',
    stderr: log,
  })
  const code = matches.length > 0 ? exitCodes.ok : exitCodes.failed
  if (options.json === true) {
    printJson(io, { matches, others, problems: broken, builtIn: { label: found.label, evidence: found.evidence } })
    return code
  }
  for (const { id, line, does, state, caution } of matches) {
    printLine(
      io,
      `${id} would apply${state === 'waiting' ? ' once you have confirmed it (unstuck config confirm)' : ''}`,
    )
    printLine(io, `  found  ${safe(line)}`)
    printLine(io, `  does   ${safe(does)}`)
    if (caution !== undefined) printLine(io, `  but    ${caution}`)
  }
  for (const { name, why } of others) printLine(io, `${ownId(name)} would not apply: ${safe(why)}`)
  for (const problem of broken) printLine(io, problemText(problem))
  if (own.length === 0) printLine(io, `There is no playbook in ${playbookFolder}.`)
  printLine(io, `The built-in playbooks see ${found.label}: ${safe(found.evidence)}`)
  return code
}

/** The newest failed run of a task, or the run itself. */
const failedRun = async (io: Io, id: string): Promise<Run> => {
  const run = await readOnly(io, async ({ client }) => {
    if (id.startsWith('r-')) return client.get<Run>(`/runs/${encodeURIComponent(id)}`)
    const all = await client.get<Run[]>(`/runs?task=${encodeURIComponent(id)}`)
    return all
      .filter(({ errorMeta }) => errorMeta !== null)
      .toSorted((a, b) => a.number - b.number)
      .at(-1)
  })
  if (run?.errorMeta == null)
    throw new AppError('NOT_FOUND', `${id} has not failed, so there is no failure to make a playbook of`)
  return run
}

/** The line of what was printed that the evidence quotes; the evidence itself where it quotes none. */
const causeLine = (evidence: string, printed: string): string => {
  const lines = printed.split('\n').map((line) => line.trim())
  const quoted = lines.filter((line) => line.length > 3 && evidence.includes(line))
  const last = lines.filter((line) => line !== '').at(-1)
  return quoted.toSorted((a, b) => b.length - a.length)[0] ?? last ?? evidence.split('; ')[0] ?? evidence
}

export const playbookDraftCommand = async (io: Io, id: string): Promise<number> => {
  const { errorMeta } = await failedRun(io, id)
  const { failedCommand, failedCommandStderr = '', evidence } = errorMeta as NonNullable<Run['errorMeta']>
  const isCheck = failedCommand !== undefined && failedCommand !== ''
  const draft = draftOf({
    failure: isCheck ? 'check' : 'agent',
    ...(isCheck ? { command: failedCommand } : {}),
    line: causeLine(evidence, failedCommandStderr),
  })
  printLine(io, JSON.stringify(draft, null, 2))
  io.error(
    `unstuck: write it to ${playbookFolder}/<name>.json, change its action (docs/playbooks.md), and try it: unstuck playbook test <log>\n`,
  )
  return exitCodes.ok
}
