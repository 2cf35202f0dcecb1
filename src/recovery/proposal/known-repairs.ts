/**
 * The appendix of the recovery format: failures whose repair is known, as proposals that a diagnosis writes where the agent wrote
 * none. They take the same way as a proposal of an agent (lists, limits, cooldown, post-condition). `bun` in the format stands for
 * the repository's own package manager. Pure.
 */
import type { Install } from '../../domain/install.ts'
import type { Label } from '../diagnosis/labels.ts'
import type { Proposal } from './proposal.ts'

export const nodePrograms: Readonly<Record<string, string>> = {
  pnpm: 'pnpm',
  'yarn-berry': 'yarn',
  'yarn-1': 'yarn',
  bun: 'bun',
  npm: 'npm',
  'npm-unlocked': 'npm',
}

/** What governs a folder, as far as these repairs know it. */
type NodeInstall = Pick<Install, 'manager' | 'folder'>

/** The first of the installs for the folder of a check that belongs to a package manager of Node. */
export const nodeInstallIn = (installs: readonly NodeInstall[]): NodeInstall | undefined =>
  installs.find(({ manager }) => nodePrograms[manager] !== undefined)

export interface KnownFailure {
  label: string
  /** The line that the diagnosis rests on. */
  evidence: string
  /** What the check printed. */
  output: string
  /** The check itself. */
  command: string
  install: NodeInstall
  /** Names of the package scripts in that folder. */
  scripts: readonly string[]
}

export interface KnownRepair {
  proposal: Proposal
  /** Why only the owner's list or a person may let it run; undefined = as any other proposal. */
  caution: string | undefined
}

interface Row {
  /** Matches the output of the check. */
  pattern: RegExp
  labels: readonly Label[]
  /** Undefined = the repository has no such command. */
  command: (manager: string, scripts: readonly string[]) => string | undefined
  cause: string
  caution?: string
}

const missing = ['dependency_missing', 'command_not_found', 'build_artifact_missing', 'corrupted_install'] as const
const conflict = ['dependency_version_conflict', 'corrupted_install'] as const

const build = (manager: string, scripts: readonly string[]): string | undefined =>
  scripts.includes('build') ? `${manager} run build` : undefined

/** In this order, because a missing build output is also reported as a missing module. */
const rows: readonly Row[] = [
  {
    pattern: /Cannot find.*\.next/,
    labels: missing,
    command: (manager, scripts) => {
      const made = build(manager, scripts)
      return made === undefined ? undefined : `rm -rf .next && ${made}`
    },
    cause: 'the build output in .next is missing or damaged',
  },
  {
    pattern: /ENOENT.*\bdist\b|Cannot find (?:module|package).*\bdist\//,
    labels: missing,
    command: build,
    cause: 'the build output in dist is missing',
  },
  {
    pattern: /ERESOLVE/,
    labels: conflict,
    command: (manager) => (manager === 'npm' ? 'npm install --legacy-peer-deps' : undefined),
    cause: 'the versions in the manifest contradict each other',
    caution: '--legacy-peer-deps ignores versions that contradict each other, which can break the program later',
  },
  {
    pattern:
      /[Vv]ersion mismatch|does not match binary version|must have the exact same version|was compiled against a different/,
    labels: conflict,
    command: (manager) => `rm -rf node_modules && ${manager} install`,
    cause: 'installed packages do not fit each other',
  },
  {
    pattern: /out of sync|ERR_PNPM_OUTDATED_LOCKFILE|lockfile (?:is not|would have been)|are in sync/,
    labels: conflict,
    command: (manager) => `${manager} install`,
    cause: 'the lockfile is older than the manifest',
  },
  {
    pattern: /Cannot find (?:module|package)|not found/,
    labels: ['dependency_missing', 'command_not_found'],
    command: (manager) => `${manager} install`,
    cause: 'a package is not installed',
  },
]

const longestEvidence = 1000

/** The repair of the first row that fits; undefined = none is known, as for an error in the code. */
export const knownRepair = (failure: KnownFailure, now: Date): KnownRepair | undefined => {
  const { install } = failure
  const manager = nodePrograms[install.manager]
  if (manager === undefined) return undefined
  for (const { pattern, labels, command, cause, caution } of rows) {
    if (!labels.some((label) => label === failure.label) || !pattern.test(failure.output)) continue
    const repair = command(manager, failure.scripts)
    if (repair === undefined) continue
    return {
      caution,
      proposal: {
        version: 1,
        timestamp: now.toISOString(),
        category: 'dependency',
        severity: 'blocking',
        diagnosis: {
          error_pattern: pattern.source,
          root_cause: cause,
          evidence: [failure.evidence.slice(0, longestEvidence) || cause],
        },
        recovery: {
          command: repair,
          ...(install.folder === '' ? {} : { working_dir: install.folder }),
          timeout_seconds: 600,
          expected_outcome: `\`${failure.command.slice(0, 200)}\` runs again`,
          confidence: caution === undefined ? 'high' : 'low',
        },
      },
    }
  }
  return undefined
}
