/**
 * Files that git stores with other bytes than they have on disk: in another encoding (`working-tree-encoding`), or as a content filter
 * makes them (`filter`: Git LFS, git-crypt). If the attribute existed before the work and the conversion works, git converts both ways.
 * In all other cases git would fail half-way or store other content than it should, such as plain text in the place of encrypted
 * text, so a person has to decide.
 */
import { join } from 'node:path'
import { lstatInside } from './lstat-inside.ts'
import { runsFilter } from './filters.ts'
import { readRegular } from '../platform/regular-file.ts'
import type { LeftOut } from './repository-types.ts'
import { fieldsOf, git } from './git.ts'
import type { GitOptions } from './git.ts'

const attributes = ['working-tree-encoding', 'filter'] as const
type Attribute = (typeof attributes)[number]

type Values = Record<Attribute, Map<string, string>>

/** The values of each attribute by path; files without it are left out. */
const valuesOf = async (at: GitOptions, paths: string[], from: string[]): Promise<Values> => {
  const input = paths.map((path) => `${path}\0`).join('')
  const args = ['check-attr', ...from, '-z', '--stdin', ...attributes]
  const fields = fieldsOf((await git(args, { ...at, input })).stdout)
  const found: Values = { 'working-tree-encoding': new Map(), filter: new Map() }
  for (let index = 0; index + 2 < fields.length; index += 3) {
    const [path = '', attribute = '', value = ''] = fields.slice(index, index + 3)
    if (value !== 'unspecified' && value !== 'unset') found[attribute as Attribute].set(path, value)
  }
  return found
}

/** Whether a file that is declared as UTF-16 is really UTF-8: git would read each two of its bytes as one character. */
const isPlainText = async (path: string): Promise<boolean> => {
  const bytes = await readRegular(path)
  if (bytes.length === 0 || bytes.includes(0)) return false
  return Buffer.from(bytes.toString('utf8')).equals(bytes)
}

const isWide = (encoding: string): boolean => /^UTF-?(16|32)/i.test(encoding)

const encodingFault = async (at: GitOptions, path: string, encoding: string): Promise<string | undefined> => {
  if (isWide(encoding) && (await isPlainText(join(at.workTree ?? at.cwd, path)))) return `the file is not ${encoding}`
  const config: [string, string][] = [['core.checkRoundtripEncoding', encoding]]
  const stored = await git(['hash-object', '-w', '--', path], {
    ...at,
    config: [...(at.config ?? []), ...config],
    okCodes: [0, 128],
  })
  return stored.code === 0 ? undefined : `git cannot read the file as ${encoding}`
}

/** Why the filter of this name cannot store the file. A symlink is never filtered. */
const filterFault = async (at: GitOptions, path: string, filter: string): Promise<string | undefined> => {
  if ((await lstatInside(at.workTree ?? at.cwd, path))?.isFile() !== true) return undefined
  if (!runsFilter(at.config ?? [], filter))
    return `the filter ${filter}, through which git stores this file, does not run here`
  const stored = await git(['hash-object', '-w', '--', path], { ...at, okCodes: [0, 1, 128] })
  return stored.code === 0 ? undefined : `the filter ${filter} failed: ${stored.stderr.trim().slice(0, 300)}`
}

const faults: Record<Attribute, typeof filterFault> = { 'working-tree-encoding': encodingFault, filter: filterFault }

/** The changed files that git would not store as it should. The index must be at the base. */
export const filesWithEncodingFault = async (at: GitOptions, paths: string[]): Promise<LeftOut[]> => {
  if (paths.length === 0) return []
  const [before, now] = await Promise.all([valuesOf(at, paths, ['--cached']), valuesOf(at, paths, [])])
  const found: LeftOut[] = []
  for (const attribute of attributes)
    for (const path of new Set([...before[attribute].keys(), ...now[attribute].keys()])) {
      const [old, value] = [before[attribute].get(path), now[attribute].get(path)]
      const rule = `${attribute}=${value ?? old ?? ''}`
      // The base commit stores the file as it is, and nobody has the filter that the work adds: git goes on storing it as it is.
      if (attribute === 'filter' && old === undefined && !runsFilter(at.config ?? [], value ?? '')) continue
      const fault =
        value !== undefined && (old === value || (attribute === 'filter' && old === undefined))
          ? await faults[attribute](at, path, value)
          : `the work ${value === undefined ? 'removed' : old === undefined ? 'added' : 'changed'} this attribute`
      if (fault === undefined) continue
      const lacks = attribute === 'filter' && value !== undefined && !runsFilter(at.config ?? [], value)
      found.push({
        ...{
          path,
          reason: `${fault} (${rule} in .gitattributes)`,
          encoding: lacks ? `${rule}, which does not run here` : rule,
        },
        ...(lacks ? { lacksFilter: value } : {}),
      })
    }
  return found
}
