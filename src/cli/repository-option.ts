/** `--repo`, which every command takes: a repository by URL instead of the folder that the command is called in. */
import { AppError } from '../errors.ts'
import type { Io } from './io.ts'

export const repository = [
  '--repo <url>',
  'a repository by git URL instead of this folder (better with a login: UNSTUCK_REPO_URL, which no process list shows)',
] as const

/** Commands that look at no repository. */
const withoutRepository = new Set(['demo', 'sim', 'classify', 'exec', 'completion'])

/** As with the database, the address may hold a login; from here on it travels in the environment, and independent of the folder. */
export const withRepository = async (io: Io, given: string | undefined, command: string): Promise<Io> => {
  const text = given ?? io.environment.UNSTUCK_REPO_URL ?? ''
  if (given !== undefined) process.title = 'unstuck'
  if (given !== undefined && withoutRepository.has(command))
    throw new AppError('USAGE', `"unstuck ${command}" looks at no repository; leave --repo out`)
  if (text === '' && given === undefined) return io
  const { parseRemote } = await import('../workspace/remote-url.ts')
  const address = parseRemote(text, io.cwd)
  const absolute = address.transport === 'file' ? address.url : text
  return { ...io, environment: { ...io.environment, UNSTUCK_REPO_URL: absolute } }
}
