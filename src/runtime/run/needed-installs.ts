/**
 * Packages that an agent installed for its work, found where it installed them: the clean clone is given the same by the
 * package manager, from the work's own lockfile. Without it every task that adds a dependency would be a failed check first.
 */
import { basename, dirname, join } from 'node:path'
import { keptVerdict, type Install } from '../../domain/run.ts'
import { installsIn, isManifest, madeBy } from '../../recovery/install.ts'
import { installKeyOf } from '../../recovery/playbook.ts'
import type { ChangeList } from '../../workspace/contract.ts'
import { readOr, type Files } from '../core/files.ts'
import { save, type Session } from '../core/session.ts'

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
