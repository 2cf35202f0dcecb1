/**
 * Packages that a clone needs in addition to those from the pool. If an agent installed a dependency, the package
 * manager installs it in the clean clone too, from the lockfile of the work; otherwise every task that adds a
 * dependency would fail its checks first. A virtual environment contains its own path, so it is created in the clone
 * instead of copied.
 */
import { basename, dirname, join } from 'node:path'
import type { Install } from '../../domain/install.ts'
import { keptVerdict } from '../../domain/run.ts'
import { installsIn, isManifest, installedPatterns } from '../../recovery/install.ts'
import { installKeyOf } from '../../recovery/playbook.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import { carryOutInstall } from '../checks/install.ts'
import { readIfFile, type Files } from '../core/files.ts'
import { saveProgress, type RunContext } from '../core/run-context.ts'
import { commandContext } from './repair.ts'

interface InstallSearch {
  files: Files
  clean: string
  workspace: string
  changed: readonly string[]
}

/**
 * Installs whose result exists in the agent's workspace and not in the clean clone, at the top level and where the
 * work changed a manifest.
 */
export const missingInstalls = ({ files, clean, workspace, changed }: InstallSearch): Install[] => {
  const folders = new Set(['', ...changed.filter((path) => isManifest(basename(path))).map((path) => dirname(path))])
  folders.delete('.')
  return [...folders].flatMap((folder) =>
    installsIn(folder, (name) => readIfFile(files, join(clean, folder, name))).filter((install) => {
      // A package of a monorepo has a manifest and no lockfile; its dependencies are installed from the top level.
      if (install.manager === 'npm-unlocked' && folder !== '') return false
      return installedPatterns([install]).some(
        (made) => files.existsSync(join(workspace, made)) && !files.existsSync(join(clean, made)),
      )
    }),
  )
}

/** Stores the missing installs with the run; they are carried out in every clone in which its checks run. */
export const planInstalls = async (runContext: RunContext, found: ChangeList): Promise<void> => {
  const { context, paths, run } = runContext
  // The owner's set-up command prepares the clone.
  if (context.config().workspace.setup !== undefined) return
  const kept = keptVerdict(run.verdict)
  const known = new Set((kept.installed ?? []).map(installKeyOf))
  const missing = missingInstalls({
    files: context.ports.files,
    ...{ clean: paths.checked, workspace: paths.workspace, changed: found.changes.map(({ path }) => path) },
  })
  const added = missing.filter((install) => !known.has(installKeyOf(install)))
  if (added.length > 0)
    await saveProgress(runContext, { verdict: { ...kept, installed: [...(kept.installed ?? []), ...added] } })
}

/**
 * Milliseconds. The agent can work without the environment, so a registry that does not respond may delay it only this
 * long.
 */
const environmentMs = 180_000

/** Creates a virtual environment in the agent's clone, before the agent starts, if the owner's checkout has one. */
export const makeVirtualEnvironment = async (runContext: RunContext): Promise<void> => {
  const { context, paths, run } = runContext
  if (context.config().workspace.setup !== undefined) return
  const search = { files: context.ports.files, clean: paths.workspace, workspace: context.repository.root, changed: [] }
  const [install] = missingInstalls(search).filter((each) => installedPatterns([each]).includes('/.venv'))
  if (install === undefined) return
  const place = commandContext(runContext, paths.workspace)
  // Ends what an engine that was killed here left running.
  await context.ports.processes.sweep(place.marker)
  const folder = (number: number): string => join(paths.root, 'environment', String(number))
  const made = await carryOutInstall({ ...place, folder, totalMs: Math.min(place.totalMs, environmentMs) }, install)
  context.log.info(
    { run: run.id, manager: install.manager, ...made },
    'creation of the virtual environment in the workspace ended',
  )
  if (!made.ok) context.ports.files.rmSync(join(paths.workspace, '.venv'), { recursive: true, force: true })
  else {
    const kept = keptVerdict(run.verdict)
    await saveProgress(runContext, { verdict: { ...kept, installed: [...(kept.installed ?? []), install] } })
  }
}
