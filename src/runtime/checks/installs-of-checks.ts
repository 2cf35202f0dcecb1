/**
 * The installs that checks need: of the top folder, and of each folder in which a check runs, also by a script or a Makefile that it starts.
 */
import { dirname, join } from 'node:path'
import type { Install } from '../../domain/install.ts'
import { partsOf } from '../../recovery/check/check-parts.ts'
import { fillsNodeModules, installsIn, installsNeededBy } from '../../recovery/install.ts'
import { readIfFile, type Files } from '../core/files.ts'
import { commandDirectory } from './check-facts.ts'

const above = (folder: string): string => (dirname(folder) === '.' ? '' : dirname(folder))

const foldersUpFrom = (folder: string): string[] => (folder === '' ? [''] : [folder, ...foldersUpFrom(above(folder))])

/** Of one folder. A package without a lockfile below another one is a part of that: its packages come from there. */
const installsOf = (files: Files, workspace: string, folder: string): Install[] => {
  const read = (path: string) => (name: string) => readIfFile(files, join(workspace, path, name))
  const installs = installsIn(folder, read(folder))
  if (folder === '' || !installs.some(({ manager }) => manager === 'npm-unlocked')) return installs
  const isPart = foldersUpFrom(above(folder)).some((path) => installsIn(path, read(path)).some(fillsNodeModules))
  return installs.filter(({ manager }) => !isPart || manager !== 'npm-unlocked')
}

/** The nearest folder with an install, below the top: a check may run deeper. One that leads out of the workspace is none. */
const governing = (files: Files, workspace: string, folder: string): string | undefined =>
  foldersUpFrom(folder).find(
    (path) =>
      path !== '' && commandDirectory(files, workspace, [path]).ok && installsOf(files, workspace, path).length > 0,
  )

/** Without those that a check runs itself. */
export const installsOfChecks = async (
  files: Files,
  workspace: string,
  commands: readonly string[],
): Promise<Install[]> => {
  const read = async (path: string): Promise<string | undefined> => readIfFile(files, join(workspace, path))
  const startedIn = new Map<string, string[]>()
  for (const command of commands)
    for (const started of (await partsOf([command], read)).folders) {
      const folder = governing(files, workspace, started)
      if (folder !== undefined) startedIn.set(folder, [...(startedIn.get(folder) ?? []), command])
    }
  return [
    ...installsNeededBy(installsOf(files, workspace, ''), commands),
    ...[...startedIn].flatMap(([folder, its]) => installsNeededBy(installsOf(files, workspace, folder), its)),
  ]
}
