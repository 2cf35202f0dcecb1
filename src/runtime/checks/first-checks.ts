/** Which checks a task begins with, and how they are named for people: those of the task, of the configuration, else inferred ones. */
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import type { CommandSource, Task } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import type { TopOfCommit } from '../../workspace/tree.ts'
import { readOr, type Files } from '../core/files.ts'
import { inferCommands } from './infer-commands.ts'
import { contractFile, plannedChecks, readContract, type VerifyContract } from './verify-contract.ts'

const parsed = (text: string | undefined): unknown => {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined // a broken manifest declares no check
  }
}

export const manifests = ['package.json', 'Makefile', 'pyproject.toml']

export const topOfFolder = (files: Files, root: string): TopOfCommit => {
  const texts = manifests.flatMap((name) => {
    const text = readOr(files, join(root, name))
    return text === undefined ? [] : [[name, text]]
  })
  const names = files.readdirSync(root)
  // One level of the folders that hold tests: whether there are any decides for some stacks.
  const inTests = names
    .filter((name) => /^(tests?|spec)$/.test(name) && files.statSync(join(root, name)).isDirectory())
    .flatMap((name) => files.readdirSync(join(root, name)).map((entry) => `${name}/${entry}`))
  return { names: [...names, ...inTests], texts: Object.fromEntries(texts) }
}

export const inferredFor = ({ names, texts }: TopOfCommit): string[] => {
  const packageJson = parsed(texts['package.json'])
  const makefile = texts.Makefile
  const pyproject = texts['pyproject.toml']
  return inferCommands({
    files: names,
    ...(packageJson === undefined ? {} : { packageJson }),
    ...(makefile === undefined ? {} : { makefile }),
    ...(pyproject === undefined ? {} : { pyproject }),
  })
}

export interface FirstChecks {
  commands: string[]
  source: CommandSource
}

export const checksOf = (input: Pick<Task, 'commands'>, config: Config, inferred: string[]): FirstChecks => {
  if (input.commands.length > 0) return { commands: input.commands, source: 'task' }
  if ((config.verify.commands ?? []).length > 0) return { commands: config.verify.commands ?? [], source: 'config' }
  return { commands: inferred, source: 'inferred' }
}

const sources: Record<CommandSource, string> = {
  task: 'named by the task',
  config: 'from .unstuck/config.json',
  inferred: 'inferred from the repository',
}

const list = (commands: readonly string[], source: string): string[] =>
  commands.length === 0 ? [] : [`${commands.join(', ')} (${source})`]

/** One line: which checks run, and where each comes from. Rules of a contract that depend on the changed paths are only mentioned. */
export const checksText = (
  task: Pick<Task, 'commands' | 'commandSource' | 'role'>,
  contract: VerifyContract | undefined,
): string => {
  const { commands, fromContract } = plannedChecks(task, contract, [], { dropped: [] })
  const own = commands.filter((command) => !fromContract.has(command))
  const rules = contract?.rules?.length ?? 0
  const parts = [
    ...list(own, sources[task.commandSource]),
    ...list([...fromContract], `contract, ${contractFile}`),
    ...(rules === 0 ? [] : [`${rules} more ${rules === 1 ? 'rule' : 'rules'} of the contract, by changed path`]),
  ]
  if (parts.length > 0) return `Checks: ${parts.join('; ')}`
  return 'No check was found, so nothing will be verified; name one: "verify": {"commands": ["…"]} in .unstuck/config.json'
}

/** With the contract of this checkout. That a contract is broken is said here and stops nothing: a run reports it. */
export const checksHere = (files: Files, root: string, task: Parameters<typeof checksText>[0]): string => {
  try {
    return checksText(task, readContract(files, root))
  } catch (error) {
    if (error instanceof AppError) return error.message
    throw error
  }
}
