/** The work of `unstuck issue`. A person names the issue, so its label, its author and the issues before it do not matter. */
import { forgeHere } from '../api/forge-here.ts'
import { loadConfig } from '../config/config.ts'
import { issueName } from '../domain/issue-name.ts'
import { AppError } from '../errors.ts'
import { readIssue } from '../recovery/plan/read-issue.ts'
import { issueInput } from '../runtime/goal/issue-input.ts'
import { homeOf } from './engine/home.ts'
import type { Live } from './live/live.ts'
import type { RunOptions } from './run/request.ts'
import { runGoal } from './run/run.ts'

const numberOf = (text: string): string => {
  const digits = /^#?([1-9]\d{0,8})$/.exec(text)?.[1]
  if (digits === undefined) throw new AppError('USAGE', `"${text}" is not the number of an issue; give one such as 12`)
  return digits
}

export const issueCommand = async (
  live: Live,
  text: string,
  options: Omit<RunOptions, 'allowDir'>,
): Promise<number> => {
  const { io } = live
  const { repository } = await homeOf(io)
  const config = () => loadConfig({ root: repository.root, environment: io.environment })
  // A tracker may give names instead of numbers.
  const id = config().forge.command === undefined ? numberOf(text) : text.trim()
  const source = await forgeHere({ repository, environment: io.environment, config }).issues()
  if (source === undefined)
    throw new AppError(
      'CONFIG_INVALID',
      'there are no issues: set "forge": {"kind": "github"} (or forge.command) in .unstuck/config.json, then run this again; forge.kind is "off"',
    )
  live.say(`reading issue ${issueName(id)} of ${source.name}`)
  const issue = await source.issue(id)
  if (!issue.isOpen)
    throw new AppError(
      'ILLEGAL',
      `issue ${issueName(id)} of ${source.name} is closed; reopen it there, then run this again`,
    )
  const read = readIssue(issue)
  const input = issueInput(source, issue, { ...read, role: read.role ?? 'worker' })
  // What this command works on never lands by itself, whatever `autoMerge` says of a person's own words.
  return runGoal(live, [`issue ${issueName(id)}`], {
    ...options,
    merge: false,
    allowDir: [],
    issue: { input, id, url: issue.url },
  })
}
