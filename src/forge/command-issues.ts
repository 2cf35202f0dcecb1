/**
 * Issues that a command of the owner prints, one JSON object a line, so that any tracker or file can be a source of work. Those that it
 * prints are open. With `status` and an object as arguments, it is told what became of one.
 */
import { z } from 'zod'
import { issueName } from '../domain/issue-name.ts'
import { AppError } from '../errors.ts'
import type { ForgeIssue, IssueSource } from './forge.ts'

export interface CommandOutput {
  stdout: string
  /** Why the output does not count; undefined = the command ended well. */
  problem: string | undefined
}

const maxIssues = 1_000
const text = (most: number) => z.string().max(most)
const line = z.object({
  id: z
    .union([text(100), z.int().min(0)])
    .transform(String)
    .refine((id) => /^[^\s\p{C}]+$/u.test(id), { error: 'a name without spaces is expected' }),
  title: text(10_000),
  body: text(500_000).nullish(),
  url: text(2_000).nullish(),
  labels: z.array(text(200)).max(100).nullish(),
  dependsOn: z
    .array(z.union([text(100), z.int().min(0)]).transform(String))
    .max(50)
    .nullish(),
})

interface Read {
  issues: ForgeIssue[]
  problems: string[]
}

const jsonOf = (written: string): unknown => {
  try {
    return JSON.parse(written)
  } catch {
    return undefined
  }
}

/** A line that cannot be read holds no other up. */
export const readIssueLines = (output: string): Read => {
  const read: Read = { issues: [], problems: [] }
  const ids = new Set<string>()
  for (const [index, written] of output.split('\n').entries()) {
    if (written.trim() === '') continue
    const problem = (why: string): void => void read.problems.push(`forge.command, line ${index + 1}: ${why}`)
    const parsed = line.safeParse(jsonOf(written))
    if (!parsed.success) {
      const [issue] = parsed.error.issues
      const field = issue?.path.join('.') ?? ''
      problem(field === '' ? 'it is no JSON object' : `${field}: ${issue?.message ?? ''}`)
      continue
    }
    const { id, title, body, url, labels, dependsOn } = parsed.data
    if (ids.has(id)) problem(`id: an earlier line has ${issueName(id)} as well`)
    else if (ids.size === maxIssues) problem(`only the first ${maxIssues} issues are read`)
    else
      read.issues.push({
        ...{ id, title, body: body ?? '', url: url ?? '', labels: labels ?? [], dependsOn: dependsOn ?? [] },
        // The owner's command says which issues are to be worked on.
        ...{ author: '', isByMember: true },
      })
    ids.add(id)
    if (ids.size > maxIssues) break
  }
  return read
}

/** `run` starts the command with more arguments. The list is read once for each source. */
export const commandIssues = (run: (args: string[]) => Promise<CommandOutput>): IssueSource => {
  const output = async (args: string[]): Promise<string> => {
    const { stdout, problem } = await run(args)
    if (problem === undefined) return stdout
    throw new AppError('REMOTE_UNAVAILABLE', `forge.command ("… ${args[0] ?? ''}"): ${problem}`)
  }
  let listed: Promise<Read> | undefined
  const list = (): Promise<Read> => (listed ??= output(['issues']).then(readIssueLines))
  return {
    name: 'the issue tracker',
    openIssues: list,
    issue: async (id) => {
      const found = (await list()).issues.find((issue) => issue.id === id)
      if (found !== undefined) return { ...found, isOpen: true }
      throw new AppError('NOT_FOUND', `forge.command prints no issue ${issueName(id)}`)
    },
    findComment: () => Promise.resolve(null),
    writeComment: async (id, comment, status) => {
      await output(['status', JSON.stringify({ id, ...status })])
      return comment ?? 1
    },
  }
}
