/**
 * Content filters (`filter` in .gitattributes): programs of the owner's git configuration that turn what is stored into what is on disk
 * and back, such as those of Git LFS and git-crypt. Drivers of the user's own configuration run as in the user's git. Those of the
 * repository's configuration run only if `workspace.filters` names them, because a program that works there could have written it.
 */
import { join } from 'node:path'
import { fieldsOf, git } from './git.ts'
import { inRepository } from './refs.ts'
import type { Repository } from './repository-types.ts'

export interface FilterDriver {
  name: string
  /** Only the repository's own configuration has it. */
  ofRepository: boolean
  config: [key: string, value: string][]
}

const parts = new Set(['clean', 'smudge', 'process'])

/** The drivers that the owner's git knows here. */
export const readFilterDrivers = async (repository: Repository): Promise<FilterDriver[]> => {
  if (repository.commonDir === null) return []
  const args = ['config', '--includes', '--show-scope', '-z', '--get-regexp', String.raw`^filter\..+\.`]
  const fields = fieldsOf((await git(args, { ...inRepository(repository), okCodes: [0, 1] })).stdout)
  const drivers = new Map<string, FilterDriver>()
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [key = '', ...rest] = (fields[index + 1] ?? '').split('\n')
    const [name, part] = [key.slice('filter.'.length, key.lastIndexOf('.')), key.slice(key.lastIndexOf('.') + 1)]
    const value = rest.join('\n')
    if (!parts.has(part) || value === '') continue
    const isUsers = fields[index] === 'global' || fields[index] === 'system'
    const known = drivers.get(name)
    drivers.set(name, {
      name,
      // A value of the repository replaces the user's: then the driver is the repository's.
      ofRepository: !isUsers || (known?.ofRepository ?? false),
      config: [...(known?.config ?? []).filter(([other]) => other !== key), [key, value]],
    })
  }
  return [...drivers.values()]
}

/** Settings with which our git runs the drivers that may run. One that fails is an error: git must not store the file as it is. */
export const filterConfig = (
  { commonDir }: Repository,
  drivers: readonly FilterDriver[],
  allowed: readonly string[],
): [string, string][] =>
  drivers
    .filter(({ name, ofRepository }) => !ofRepository || allowed.includes(name))
    .flatMap(({ name, config }): [string, string][] => [
      ...config,
      [`filter.${name}.required`, 'true'],
      // Objects that are stored in a clone would be gone with it.
      ...(name === 'lfs' && commonDir !== null ? [['lfs.storage', join(commonDir, 'lfs')] as [string, string]] : []),
    ])

/** The driver of this name may run. */
export const runsFilter = (config: readonly [string, string][], name: string): boolean =>
  config.some(([key]) => key === `filter.${name}.required`)

/** The same, but a file stays as it is if its filter fails: to lay out files, of which the content of a large one may not be here. */
export const lenientFilters = (config: readonly [string, string][]): [string, string][] =>
  config.map(([key, value]) => [key, key.endsWith('.required') ? 'false' : value])
