import { fileURLToPath } from 'node:url'

/** The top folder of this checkout, with a slash at the end. */
export const repositoryRoot = fileURLToPath(new URL('..', import.meta.url))
