/**
 * Whether the CLI's own sandbox keeps a launch from the owner's files. Recorded with the launch, because settings that change later
 * say nothing about a program that runs already.
 */
import { dirname, isAbsolute, join } from 'node:path'
import type { Launch } from '../../domain/run.ts'
import type { Capabilities } from '../../harness/capabilities.ts'
import type { RunContext } from '../core/run-context.ts'
import { isInside } from './observe-denial.ts'

/** Where the files are that say what agents may do. The contract and the configuration have a fixed place. */
const ownersFolders = ({ context }: RunContext): string[] => {
  const { root } = context.repository
  const policy = context.environment.POLICY_RECOVERY_CONFIG_PATH ?? ''
  return [join(root, '.unstuck'), ...(policy === '' ? [] : [dirname(isAbsolute(policy) ? policy : join(root, policy))])]
}

const realPath = ({ context }: RunContext, path: string): string => {
  try {
    return context.ports.files.realpathSync(path)
  } catch {
    return path // it does not exist
  }
}

export const isConfined = (runContext: RunContext, { corrections }: Launch, { commands }: Capabilities): boolean => {
  const { context, goal, harness } = runContext
  if (commands !== 'sandbox' || goal.repoMode === 'direct') return false
  // Arguments and programs of the owner's own can switch the sandbox off.
  if (harness.unrestricted === true || harness.command !== undefined || harness.args.length > 0) return false
  // Every sandbox lets its programs write temporary files.
  const writable = [...corrections.addDirs, '/tmp', context.environment.TMPDIR ?? '/tmp'].map((dir) =>
    realPath(runContext, dir),
  )
  const folders = ownersFolders(runContext).map((folder) => realPath(runContext, folder))
  return !writable.some((dir) => folders.some((folder) => isInside(folder, dir) || isInside(dir, folder)))
}
