/** The work of `unstuck config check`: every file of the owner that is in use, each with its first mistake by key and reason. */
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import { loadConfig, type Config } from '../config/config.ts'
import { AppError, exitCodes, messageOf } from '../errors.ts'
import { loadPolicyRecovery, policyRecoveryFile } from '../config/policy-recovery-file.ts'
import { playbookFolder, playbookNames, playbookPath, readPlaybook } from '../config/playbook-files.ts'
import { contractFile, parseContract } from '../runtime/checks/verify-contract.ts'
import { realFiles } from '../runtime/core/files.ts'
import { findProgram } from '../runtime/core/find-program.ts'
import { planCommand } from '../recovery/command/command-plan.ts'
import { quotingNoLink, readOwnerFile } from '../config/owner-file.ts'
import { valueText } from '../validation.ts'
import type { JsonOption } from './command-options.ts'
import { homeOf } from './engine/home.ts'
import { printJson, printLine, type Io } from './io.ts'
import { safe } from './render.ts'

interface Checked {
  file: string
  /** `absent` = there is no such file, and the defaults apply. */
  state: 'valid' | 'absent' | 'invalid'
  problem?: string
}

type Check = (path: string, searchPath: string | undefined) => void

const contractAt: Check = (path) => {
  const text = readOwnerFile(path)
  if (text !== undefined) quotingNoLink(path, () => parseContract(path, text))
}

const playbookAt: Check = (path) => void readPlaybook(path, readOwnerFile(path))

const policyAt: Check = (path) =>
  void loadPolicyRecovery({ root: '/', environment: { POLICY_RECOVERY_CONFIG_PATH: path } })

/** A program of a relative path belongs to a workspace, which does not exist yet. */
const isMissing = (program: string, searchPath: string | undefined): boolean =>
  findProgram(realFiles, program, searchPath) === undefined

/** The programs that the file itself names, by key. Those of drivers are shown by `unstuck harness`. */
const missingPrograms = (path: string, config: Config, searchPath: string | undefined): string[] => {
  const { setup } = config.workspace
  const plan = setup === undefined ? undefined : planCommand(setup)
  // A set-up also finds what the repository installed for itself.
  const installed = join(dirname(dirname(path)), 'node_modules', '.bin')
  return [
    ...Object.entries(config.harness.named).flatMap(([name, { command = [] }]) =>
      command[0] !== undefined && isMissing(command[0], searchPath)
        ? [`harness.${name}.command: ${valueText(command[0])}`]
        : [],
    ),
    ...(plan?.ok === true ? plan.steps : []).flatMap(({ argv: [program] }) =>
      program !== undefined && isMissing(program, [searchPath ?? '', installed].join(delimiter))
        ? [`workspace.setup: ${valueText(program)}`]
        : [],
    ),
  ]
}

const configAt: Check = (path, searchPath) => {
  const config = loadConfig({ root: '/', path })
  const missing = missingPrograms(path, config, searchPath)
  if (missing.length === 0) return
  const all = missing.map((each) => `${each} is not a program on this machine; install it, or correct the key`)
  quotingNoLink(path, () => {
    throw new AppError('CONFIG_INVALID', `${path}: ${all.join('\n  ')}`)
  })
}

const checks: Record<string, Check> = {
  'config.json': configAt,
  [basename(policyRecoveryFile)]: policyAt,
  [basename(contractFile)]: contractAt,
}

const checked = (path: string, check: Check, searchPath?: string): Checked => {
  try {
    if (readOwnerFile(path) === undefined) return { file: path, state: 'absent' }
    check(path, searchPath)
    return { file: path, state: 'valid' }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { file: path, state: 'invalid', problem: messageOf(error) }
  }
}

/** The policy that is in use may be another file. One that was named and does not exist is a mistake. */
const namedPolicy = (root: string, named: string): Checked => {
  const file = resolve(root, named)
  try {
    loadPolicyRecovery({ root, environment: { POLICY_RECOVERY_CONFIG_PATH: named } })
    return { file, state: 'valid' }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { file, state: 'invalid', problem: messageOf(error) }
  }
}

/** A file of another name is checked as a configuration. */
/** Each playbook is a file of its own. */
const playbooksOf = (root: string): Checked[] => {
  const { names, problems } = playbookNames(root)
  return [
    ...names.map((name) => checked(playbookPath(root, name), playbookAt)),
    ...problems.map((problem): Checked => ({ file: join(root, playbookFolder), state: 'invalid', problem })),
  ]
}

const filesOf = async (io: Io, file: string | undefined): Promise<Checked[]> => {
  if (file === undefined) {
    const { root } = (await homeOf(io)).repository
    const named = io.environment.POLICY_RECOVERY_CONFIG_PATH ?? ''
    const plain = Object.entries(checks).map(([name, check]) =>
      check === policyAt && named !== ''
        ? namedPolicy(root, named)
        : checked(join(root, '.unstuck', name), check, io.environment.PATH),
    )
    return [...plain, ...playbooksOf(root)]
  }
  const path = resolve(io.cwd, file)
  const isPlaybook = basename(dirname(path)) === basename(playbookFolder)
  const check = isPlaybook ? playbookAt : (checks[basename(path)] ?? configAt)
  const found = checked(path, check, io.environment.PATH)
  if (found.state === 'absent') throw new AppError('NOT_FOUND', `there is no file ${path}`)
  return [found]
}

const lineOf = ({ file, state, problem }: Checked): string =>
  state === 'invalid' ? `✗ ${safe(problem ?? '')}` : `${state === 'valid' ? '✓' : '-'} ${safe(file)}: ${state}`

export const configCheckCommand = async (io: Io, file: string | undefined, options: JsonOption): Promise<number> => {
  const all = await filesOf(io, file)
  if (options.json === true) printJson(io, all)
  else for (const entry of all) printLine(io, lineOf(entry))
  return all.some(({ state }) => state === 'invalid') ? exitCodes.config : exitCodes.ok
}
