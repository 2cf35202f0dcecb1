/** Before any launch: whether the checks that were inferred can be started on this machine at all. */
import { join } from 'node:path'
import { commandEnvironment } from '../../process/environment.ts'
import { planCheck } from '../../recovery/command/plan-check.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { installsIn } from '../../recovery/install.ts'
import { trustedContract } from '../checks/allowed-commands.ts'
import { findProgram } from '../core/find-program.ts'
import { readIfFile } from '../core/files.ts'
import type { RunContext } from '../core/run-context.ts'

/**
 * The first inferred check if none of them has its program: nothing that an agent does could be verified, so the person is asked before
 * a launch is spent. Undefined where a package manager governs the repository, because its install may bring the program, and for
 * checks that someone named: the agent may have a proposal for them.
 */
export const checkWithoutProgram = async (runContext: RunContext, base: string): Promise<ObservedCheck | undefined> => {
  const { context, goal, paths, task } = runContext
  const { files } = context.ports
  const [command] = task.commands
  if (command === undefined || task.commandSource !== 'inferred') return undefined
  if (Object.keys((await trustedContract(runContext, base)) ?? {}).length > 0) return undefined
  const root = goal.repoMode === 'direct' ? context.repository.root : paths.workspace
  if (installsIn('', (name) => readIfFile(files, join(root, name))).length > 0) return undefined
  const { PATH } = commandEnvironment(root, context.environment)
  const lacking = task.commands.map((each) => {
    const plan = planCheck(each)
    const programs = plan.ok ? plan.steps.map(({ argv }) => argv[0] ?? '') : []
    return programs.find((program) => program !== '' && findProgram(files, program, PATH) === undefined)
  })
  if (lacking.includes(undefined)) return undefined
  return {
    ...{ command, source: 'inferred', exitCode: null, signal: null, timedOut: false, stdout: '', stderr: '' },
    ...{ spawnError: `the program ${lacking[0]} was not found on PATH (ENOENT)`, remaining: task.commands.length - 1 },
  }
}
