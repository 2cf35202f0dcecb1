/**
 * Diagnoses a required folder that cannot be used, and whether adding its owner's permission bits can help. The founding
 * document sets 0755, which would open a private folder to all users. We only add the bits that the owner lacks.
 */
import type { Finding, FolderFacts } from '../types.ts'
import type { ObservedDirectory } from '../evidence.ts'

/** Read, write and enter. */
export const ownerBits = 0o700

export const missingBits = (mode: number): number => ownerBits & ~mode

const octal = (mode: number): string => mode.toString(8).padStart(4, '0')

/** The facts for a correction of this folder, or the reason why there is none. */
export const directoryFacts = ({ path, mode, isOurs, spared, failed }: ObservedDirectory): FolderFacts => {
  if (failed !== undefined) return { directory: path, chmodFailed: failed }
  if (mode === undefined) return { directory: path }
  if (isOurs !== true) return { directory: path, chmodFailed: `${path} (mode ${octal(mode)}) belongs to another user` }
  if (missingBits(mode) !== 0 && spared !== undefined)
    return { directory: path, chmodFailed: `${path} (mode ${octal(mode)}) ${spared}; its mode is never changed` }
  // The owner has all bits and is refused anyway, for example on a read-only file system. No mode helps.
  if (missingBits(mode) === 0) return { directory: path }
  return { directory: path, chmod: { directory: path, oldMode: octal(mode), newMode: octal(mode | ownerBits) } }
}

/** The messages are public: programs of users match on them. */
export const diagnoseDirectory = (directory: ObservedDirectory): Finding => {
  const { path, problem, failed } = directory
  if (problem !== 'no access') {
    return {
      ...{ rung: 0, label: 'DIRECTORY_MISSING', failureCode: 'environment_issue', category: 'env', retryable: false },
      evidence:
        problem === 'missing'
          ? `Critical directory missing: ${path}`
          : `Critical directory missing: ${path} is a file; a directory is needed there`,
      facts: { directory: path },
    }
  }
  const facts = directoryFacts(directory)
  return {
    ...{ rung: 0, label: 'FS_PERM_ERROR', failureCode: 'permission_or_auth_failure' },
    ...{ category: 'permission', retryable: false },
    evidence:
      facts.chmodFailed === undefined
        ? `${path} cannot be read, written and entered by this user`
        : `Cannot fix permissions for ${path}: ${failed ?? facts.chmodFailed}`,
    facts,
  }
}
