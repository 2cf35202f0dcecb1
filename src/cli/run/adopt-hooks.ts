/** `unstuck init --hooks`: what the owner's hooks run becomes checks of every change, in `.unstuck/verify.contract.json`. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { programName } from '../../recovery/diagnosis/argv.ts'
import { planCheck } from '../../recovery/command/plan-check.ts'
import { contractFile, readContract } from '../../runtime/checks/verify-contract.ts'
import { realFiles } from '../../runtime/core/files.ts'
import { programsOn } from '../../runtime/core/find-program.ts'
import type { Repository } from '../../workspace/repository-types.ts'
import { readOwnerRules } from './owner-rules.ts'

/** The first program of the command that is nowhere on the PATH. */
const missingIn = (command: string, hasProgram: (name: string) => boolean): string | undefined => {
  const plan = planCheck(command)
  const programs = plan.ok ? plan.steps.map(({ argv: [program = ''] }) => program) : []
  return programs.find((program) => !program.includes('/') && !hasProgram(program))
}

/** Adds the commands that can run here and returns lines for the person. A contract that exists keeps all it has. */
export const adoptHooks = async (repository: Repository, searchPath: string | undefined): Promise<string[]> => {
  const { hooks, commands } = await readOwnerRules(repository)
  if (hooks.length === 0) return ['No hooks were found in this repository; nothing was changed.']
  const hasProgram = programsOn(realFiles, searchPath)
  const known = readContract(realFiles, repository.root)?.commands ?? []
  const missing = commands.flatMap((command) => {
    const program = missingIn(command, hasProgram)
    return program === undefined ? [] : [{ command, program: programName(program) }]
  })
  const usable = commands.filter((command) => !missing.some((each) => each.command === command))
  const added = usable.filter((command) => !known.includes(command))
  const path = join(repository.root, contractFile)
  if (added.length > 0) {
    const before = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as object) : {}
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `${JSON.stringify({ ...before, commands: [...known, ...added] }, null, 2)}\n`)
  }
  const already = usable.filter((command) => known.includes(command))
  return [
    ...(added.length === 0 ? [] : [`Added to ${path}: ${added.join(' ; ')}. Every change must pass them.`]),
    ...(already.length === 0 ? [] : [`Already in ${path}: ${already.join(' ; ')}.`]),
    ...missing.map(
      ({ command, program }) => `Not added: ${command}. ${program} is not on your PATH; install it and repeat this.`,
    ),
    ...(commands.length === 0
      ? [`No command of ${hooks.join(', ')} can run as it is. Write what should be checked into ${path}.`]
      : []),
  ]
}
