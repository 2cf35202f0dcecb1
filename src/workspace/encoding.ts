/**
 * Files that git stores in another encoding than they have on disk (`working-tree-encoding`). If the attribute existed before
 * the work and the file has that encoding, git converts both ways. In all other cases git would fail half-way or store other
 * text than the agent wrote, so a person has to decide.
 */
import { join } from 'node:path'
import { readRegular } from '../platform/regular-file.ts'
import type { LeftOut } from './repository-types.ts'
import { fieldsOf, git } from './git.ts'
import type { GitOptions } from './git.ts'

const attribute = 'working-tree-encoding'

/** Encodings by path; files without the attribute are left out. */
const encodingsOf = async (at: GitOptions, paths: string[], from: string[]): Promise<Map<string, string>> => {
  const input = paths.map((path) => `${path}\0`).join('')
  const fields = fieldsOf((await git(['check-attr', ...from, '-z', '--stdin', attribute], { ...at, input })).stdout)
  const found = new Map<string, string>()
  for (let index = 0; index + 2 < fields.length; index += 3) {
    const [path = '', , value = ''] = fields.slice(index, index + 3)
    if (value !== 'unspecified' && value !== 'unset') found.set(path, value)
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

const faultOf = async (at: GitOptions, path: string, encoding: string): Promise<string | undefined> => {
  if (isWide(encoding) && (await isPlainText(join(at.workTree ?? at.cwd, path)))) return `the file is not ${encoding}`
  const config: [string, string][] = [['core.checkRoundtripEncoding', encoding]]
  const stored = await git(['hash-object', '-w', '--', path], { ...at, config, okCodes: [0, 128] })
  return stored.code === 0 ? undefined : `git cannot read the file as ${encoding}`
}

/** The changed files that git would not store unchanged. The index must be at the base. */
export const filesWithEncodingFault = async (at: GitOptions, paths: string[]): Promise<LeftOut[]> => {
  if (paths.length === 0) return []
  const [before, now] = await Promise.all([encodingsOf(at, paths, ['--cached']), encodingsOf(at, paths, [])])
  const found: LeftOut[] = []
  for (const path of new Set([...before.keys(), ...now.keys()])) {
    const [old, encoding] = [before.get(path), now.get(path)]
    const rule = `${attribute}=${encoding ?? old ?? ''}`
    const fault =
      old === encoding && encoding !== undefined
        ? await faultOf(at, path, encoding)
        : `the work ${encoding === undefined ? 'removed' : old === undefined ? 'added' : 'changed'} this attribute`
    if (fault !== undefined) found.push({ path, reason: `${fault} (${rule} in .gitattributes)`, encoding: rule })
  }
  return found
}
