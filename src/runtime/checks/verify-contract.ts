/**
 * `.unstuck/verify.contract.json`: the checks that the owner of a repository requires of every change, by role and by changed paths. It is
 * read from the owner's checkout and never from an agent's clone, so no agent can change it. A broken contract is an error that names
 * the spot; treating it as empty would let work pass unchecked.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { isDocumentation } from '../../recovery/documentation.ts'
import type { Verdict } from '../../domain/run.ts'
import { roles, type Role, type Task } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import { inOrder } from '../../recovery/command/order.ts'
import { planCommand } from '../../recovery/command/command-plan.ts'
import { parsePathRule, pathMatcher } from '../../recovery/policy/path-rule.ts'
import { quotingNoLink } from '../../config/owner-file.ts'
import { explainIssue, parseJson, prototypeKeyIn } from '../../validation.ts'
import type { Files } from '../core/files.ts'

export const contractFile = '.unstuck/verify.contract.json'

const command = z.string({ error: 'allowed: a command' }).superRefine((value, context) => {
  const plan = planCommand(value)
  if (plan.ok) return
  const message = `it cannot be run without a shell (${plan.piece}: ${plan.reason}); allowed: programs with arguments, joined by "&&"`
  context.addIssue({ code: 'custom', message })
})

const commandList = z
  .array(command, { error: 'allowed: a list of commands' })
  .max(100, { error: 'allowed: at most 100 commands' })

const pattern = z.string({ error: 'allowed: a path or glob inside the repository' }).superRefine((value, context) => {
  const parsed = parsePathRule(value)
  if (!parsed.ok)
    context.addIssue({ code: 'custom', message: `${parsed.reason}; allowed: a path or glob inside the repository` })
})

const patternList = z
  .array(pattern, { error: 'allowed: a list of paths or globs' })
  .min(1, { error: 'allowed: at least one path or glob, or no such key' })
  .max(100, { error: 'allowed: at most 100 entries' })

const ruleSchema = z
  .strictObject({
    whenChangedAny: patternList
      .exactOptional()
      .meta({ description: 'The rule applies if a changed path matches at least one of these patterns.' }),
    whenChangedAll: patternList
      .exactOptional()
      .meta({ description: 'The rule applies if each of these patterns matches a changed path.' }),
    commands: commandList.min(1, { error: 'allowed: at least one command' }),
  })
  .refine((rule) => rule.whenChangedAny !== undefined || rule.whenChangedAll !== undefined, {
    error: 'allowed: a rule with whenChangedAny, whenChangedAll or both (both must hold)',
  })

const byRoleShape = {
  planner: commandList.exactOptional(),
  worker: commandList.exactOptional(),
  tester: commandList.exactOptional(),
  docser: commandList.exactOptional(),
  judge: commandList.exactOptional(),
} satisfies Record<Role, unknown>

const contractSchema = z.strictObject({
  $schema: z.string().exactOptional(),
  commands: commandList.exactOptional().meta({ description: 'Checks for every change.' }),
  byRole: z
    .strictObject(byRoleShape, { error: 'allowed: an object with lists of commands' })
    .exactOptional()
    .meta({ description: 'Additional checks for tasks with this role.' }),
  rules: z
    .array(ruleSchema, { error: 'allowed: a list of rules' })
    .max(100, { error: 'allowed: at most 100 rules' })
    .exactOptional()
    .meta({ description: 'Additional checks when these paths changed.' }),
})

export type VerifyContract = z.output<typeof contractSchema>

/** The JSON Schema that is published; `scripts/generate.ts` writes it to schema/verify.contract.schema.json. */
export const verifyContractSchema = (): Record<string, unknown> => ({
  ...(z.toJSONSchema(contractSchema, { target: 'draft-2020-12' }) as Record<string, unknown>),
  title: 'Verify contract of a repository',
})

const knownKeys = (at: readonly PropertyKey[]): string[] => {
  if (at[0] === 'byRole') return [...roles]
  return Object.keys(at[0] === 'rules' ? ruleSchema.shape : contractSchema.shape).filter((key) => key !== '$schema')
}

/** Throws `CONFIG_INVALID`, which names the file, the key, the value found and the allowed values. */
export const parseContract = (name: string, text: string): VerifyContract => {
  const json = parseJson(text)
  if (!json.ok) throw new AppError('CONFIG_INVALID', `${name}: it is not JSON (${json.problem})`)
  const key = prototypeKeyIn(json.value)
  if (key !== undefined)
    throw new AppError('CONFIG_INVALID', `${name}: the key ${key} is a name that every object has; remove it`)
  const result = contractSchema.safeParse(json.value)
  if (!result.success)
    throw new AppError('CONFIG_INVALID', `${name}: ${explainIssue(result.error, json.value, knownKeys)}`)
  return result.data
}

/** The contract in the owner's checkout; undefined = none. Throws as `parseContract`. */
export const readContract = (files: Files, root: string): VerifyContract | undefined => {
  const path = join(root, contractFile)
  if (!files.existsSync(path)) return undefined
  return quotingNoLink(path, () => parseContract(path, files.readFileSync(path, 'utf8')))
}

const changed = (paths: readonly string[], text: string): boolean => {
  const parsed = parsePathRule(text)
  return parsed.ok && paths.some(pathMatcher(parsed.rule))
}

/** The contract's checks for these changed paths, in the order written, without duplicates. */
export const contractCommands = (contract: VerifyContract, role: Role, paths: readonly string[]): string[] => {
  const rules = (contract.rules ?? []).filter(
    ({ whenChangedAny: any, whenChangedAll: all }) =>
      (any === undefined || any.some((text) => changed(paths, text))) &&
      (all === undefined || all.every((text) => changed(paths, text))),
  )
  const lists = [contract.commands ?? [], contract.byRole?.[role] ?? [], ...rules.map(({ commands }) => commands)]
  return [...new Set(lists.flat())]
}

export interface PlannedChecks {
  commands: string[]
  /** Commands that only the contract requires. */
  fromContract: ReadonlySet<string>
}

/** The commands that replace a dropped one; a replacement may itself have been dropped later. */
const leftOf = (entry: string, dropped: Verdict['dropped']): string[] => {
  const at = dropped.findIndex(({ command }) => command === entry)
  const gone = dropped[at]
  if (gone === undefined) return [entry]
  return gone.by === undefined ? [] : leftOf(gone.by, dropped.toSpliced(at, 1))
}

/** Seed policy-recovery §2.5: a docs task runs only check-style commands; what the owner's contract requires of it runs as well. */
const docserCheck = /^(?:pnpm|npm|yarn|bun)\s+(?:run\s+)?check\b/

/** The checks of the task, then those of the contract. Inferred checks run only if neither names any. */
export const plannedChecks = (
  task: Pick<Task, 'commands' | 'commandSource' | 'role'> & Partial<Pick<Task, 'originalCommands'>>,
  contract: VerifyContract | undefined,
  paths: readonly string[],
  { dropped, order = [] }: Pick<Verdict, 'dropped' | 'order'>,
): PlannedChecks => {
  const required =
    contract === undefined
      ? []
      : contractCommands(contract, task.role, paths).flatMap((entry) => leftOf(entry, dropped))
  const { commands, originalCommands = commands } = task
  const isAdded = (command: string): boolean => order.includes(command) && !originalCommands.includes(command)
  const asked = task.commandSource === 'inferred' && required.length > 0 ? commands.filter(isAdded) : commands
  const isOfDocuments = task.role === 'docser' && isDocumentation(paths)
  const own = isOfDocuments ? asked.filter((command) => docserCheck.test(command)) : asked
  const fromContract = required.filter((entry) => !own.includes(entry))
  return { commands: inOrder([...own, ...fromContract], order), fromContract: new Set(fromContract) }
}
