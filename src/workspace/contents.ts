/** Text of single files of a commit or tree, read through the shadow: never from the workspace, where an agent can write. */
import { git, objectName } from './git.ts'
import { inShadow, type Shadow } from './shadow.ts'

/** Undefined where there is no such file (a folder and a nested repository are none). */
export const textAt = async (shadow: Shadow, treeish: string, path: string): Promise<string | undefined> => {
  const found = await git(['cat-file', 'blob', `${objectName(treeish)}:${path}`], {
    ...inShadow(shadow),
    okCodes: [0, 128],
  })
  return found.code === 0 ? found.stdout : undefined
}

/** What changed between two commits, as a patch for a reader, at most this many characters of it. */
export const diffText = async (
  shadow: Shadow,
  { from, to }: { from: string; to: string },
  mostChars: number,
): Promise<string> => {
  const args = ['diff-tree', '-p', '--no-renames', '--no-ext-diff', '--no-textconv', '--no-color']
  const { stdout } = await git([...args, objectName(from), objectName(to)], inShadow(shadow))
  return stdout.length <= mostChars ? stdout : `${stdout.slice(0, mostChars)}\n[cut here]\n`
}
