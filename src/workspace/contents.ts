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
