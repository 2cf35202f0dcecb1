/** The work of `unstuck config check`: every file of the owner that is in use, each with its first mistake by key and reason. */
import { basename, join, resolve } from 'node:path'
import { loadConfig } from '../config.ts'
import { AppError, exitCodes, messageOf } from '../errors.ts'
import { loadPolicyRecovery, policyRecoveryFile } from '../policy-recovery-file.ts'
import { contractFile, parseContract } from '../runtime/checks/verify-contract.ts'
import { readOwnerFile } from '../owner-file.ts'
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

type Check = (path: string) => void

const contractAt: Check = (path) => {
  const text = readOwnerFile(path)
  if (text !== undefined) parseContract(path, text)
}

const policyAt: Check = (path) =>
  void loadPolicyRecovery({ root: '/', environment: { POLICY_RECOVERY_CONFIG_PATH: path } })

const configAt: Check = (path) => void loadConfig({ root: '/', path })

const checks: Record<string, Check> = {
  'config.json': configAt,
  [basename(policyRecoveryFile)]: policyAt,
  [basename(contractFile)]: contractAt,
}

const checked = (path: string, check: Check): Checked => {
  try {
    if (readOwnerFile(path) === undefined) return { file: path, state: 'absent' }
    check(path)
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
const filesOf = async (io: Io, file: string | undefined): Promise<Checked[]> => {
  if (file === undefined) {
    const { root } = (await homeOf(io)).repository
    const named = io.environment.POLICY_RECOVERY_CONFIG_PATH ?? ''
    return Object.entries(checks).map(([name, check]) =>
      check === policyAt && named !== '' ? namedPolicy(root, named) : checked(join(root, '.unstuck', name), check),
    )
  }
  const path = resolve(io.cwd, file)
  const found = checked(path, checks[basename(path)] ?? configAt)
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
