/** The work of `unstuck issue`. A person names the issue, so its label, its author and the issues before it do not matter. */
import { forgeHere } from '../api/forge-here.ts'
import { loadConfig } from '../config.ts'
import { AppError } from '../errors.ts'
import { readIssue } from '../recovery/plan/read-issue.ts'
import { issueInput } from '../runtime/goal/issue-input.ts'
import { homeOf } from './engine/home.ts'
import type { Live } from './live/live.ts'
import type { RunOptions } from './run/request.ts'
import { runGoal } from './run/run.ts'

const numberOf = (text: string): number => {
  const digits = /^#?([1-9]\d{0,8})$/.exec(text)?.[1]
  if (digits === undefined) throw new AppError('USAGE', `"${text}" is not the number of an issue; give one such as 12`)
  return Number(digits)
}

export const issueCommand = async (
  live: Live,
  text: string,
  options: Omit<RunOptions, 'allowDir'>,
): Promise<number> => {
  const { io } = live
  const number = numberOf(text)
  const { repository } = await homeOf(io)
  const config = () => loadConfig({ root: repository.root, environment: io.environment })
  const forge = await forgeHere({ repository, environment: io.environment, config })
  if (forge === undefined)
    throw new AppError(
      'CONFIG_INVALID',
      'forge.kind is "off": set "forge": {"kind": "github"} in .unstuck/config.json, then run this again',
    )
  live.say(`reading issue #${number} of ${forge.repository}`)
  const issue = await forge.issue(number)
  if (!issue.isOpen)
    throw new AppError(
      'ILLEGAL',
      `issue #${number} of ${forge.repository} is closed; reopen it there, then run this again`,
    )
  const read = readIssue(issue)
  const input = issueInput(forge, issue, { ...read, role: read.role ?? 'worker' })
  // What this command works on never lands by itself, whatever `autoMerge` says of a person's own words.
  return runGoal(live, [`issue #${number}`], {
    ...options,
    merge: false,
    allowDir: [],
    issue: { input, number, url: issue.url },
  })
}
