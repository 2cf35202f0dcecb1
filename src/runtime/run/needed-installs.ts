/**
 * Packages that a clone needs beside those of the pool. What an agent installed for its work is found where it installed it: the
 * clean clone is given the same by the package manager, from the work's own lockfile. Without it every task that adds a
 * dependency would be a failed check first. A virtual environment of the owner's knows its own path, so it is made, not copied.
 */
import { basename, dirname, join } from 'node:path'
import { keptVerdict, type Install } from '../../domain/run.ts'
import { installsIn, isManifest, madeBy } from '../../recovery/install.ts'
import { installKeyOf } from '../../recovery/playbook.ts'
import type { ChangeList } from '../../workspace/contract.ts'
import { carryOutInstall } from '../checks/install.ts'
import { readOr, type Files } from '../core/files.ts'
import { save, type Session } from '../core/session.ts'
import { placeOfChecks } from './repair.ts'

interface Look {
  files: Files
  clean: string
  workspace: string
  changed: readonly string[]
}

/** Installs whose result the agent's workspace has and the clean clone has not: at the top, and where the work is. */
export const missingInstalls = ({ files, clean, workspace, changed }: Look): Install[] => {
  const folders = new Set(['', ...changed.filter((path) => isManifest(basename(path))).map((path) => dirname(path))])
  folders.delete('.')
  return [...folders].flatMap((folder) =>
    installsIn(folder, (name) => readOr(files, join(clean, folder, name))).filter((install) => {
      // A package of a larger repository has a manifest and no lockfile; what it needs is installed from the top.
      if (install.manager === 'npm-unlocked' && folder !== '') return false
      return madeBy([install]).some(
        (made) => files.existsSync(join(workspace, made)) && !files.existsSync(join(clean, made)),
      )
    }),
  )
}

/** Notes what is missing with the run; what is noted there is carried out in every clone that its checks run in. */
export const wantInstalls = async (session: Session, found: ChangeList): Promise<void> => {
  const { context, paths, run } = session
  // The owner's own command sets the clone up.
  if (context.config().workspace.setup !== undefined) return
  const kept = keptVerdict(run.verdict)
  const known = new Set((kept.installed ?? []).map(installKeyOf))
  const missing = missingInstalls({
    files: context.ports.files,
    ...{ clean: paths.checked, workspace: paths.workspace, changed: found.changes.map(({ path }) => path) },
  })
  const added = missing.filter((install) => !known.has(installKeyOf(install)))
  if (added.length > 0) await save(session, { verdict: { ...kept, installed: [...(kept.installed ?? []), ...added] } })
}

/** An agent can do without, and a registry that does not answer must not hold it up for long. */
const environmentMs = 180_000

/** Where the owner's checkout has a virtual environment, the agent's clone gets one, before the agent begins. */
export const makeEnvironment = async (session: Session): Promise<void> => {
  const { context, paths, run } = session
  if (context.config().workspace.setup !== undefined) return
  const look = { files: context.ports.files, clean: paths.workspace, workspace: context.repository.root, changed: [] }
  const [install] = missingInstalls(look).filter((each) => madeBy([each]).includes('/.venv'))
  if (install === undefined) return
  const place = placeOfChecks(session, paths.workspace)
  // Left by an engine that was killed in the middle of it.
  await context.ports.processes.sweep(place.marker)
  const folder = (number: number): string => join(paths.root, 'environment', String(number))
  const made = await carryOutInstall({ ...place, folder, totalMs: Math.min(place.totalMs, environmentMs) }, install)
  context.log.info({ run: run.id, manager: install.manager, ...made }, 'the virtual environment of the workspace')
  if (!made.ok) context.ports.files.rmSync(join(paths.workspace, '.venv'), { recursive: true, force: true })
  else await save(session, { verdict: { ...keptVerdict(run.verdict), installed: [install] } })
}
