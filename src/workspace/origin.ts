/** The remote `origin` of the owner's repository: where a clone came from, and where pull requests are made. */
import { git } from './git.ts'
import { inRepository } from './refs.ts'
import type { Repository } from './repository-types.ts'

/** Null = there is none. */
export const originUrl = async (repository: Repository): Promise<string | null> => {
  if (repository.commonDir === null) return null
  const { code, stdout } = await git(['remote', 'get-url', 'origin'], {
    ...inRepository(repository),
    ...{ owner: 'user', okCodes: [0, 2, 128] },
  })
  const url = stdout.trim()
  return code === 0 && url !== '' ? url : null
}
