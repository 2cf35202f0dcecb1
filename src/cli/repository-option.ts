/** `--repo`, an option of every command: a repository by URL instead of the current folder. */
import { AppError } from '../errors.ts'
import type { Io } from './io.ts'

export const repositoryOption = [
  '--repo <url>',
  'git URL of a repository to use instead of this folder (with a password, safer: UNSTUCK_REPO_URL, which process lists do not show)',
] as const

/** Commands that use no repository. */
const withoutRepository = new Set(['demo', 'sim', 'classify', 'exec', 'completion', 'repos'])

/** Moves the address to the environment, where other users cannot read a password in it. A relative path becomes absolute. */
export const withRepository = async (io: Io, given: string | undefined, command: string): Promise<Io> => {
  const text = given ?? io.environment.UNSTUCK_REPO_URL ?? ''
  if (given !== undefined) process.title = 'unstuck'
  if (given !== undefined && withoutRepository.has(command))
    throw new AppError('USAGE', `"unstuck ${command}" uses no repository; leave out --repo`)
  if (text === '' && given === undefined) return io
  const { parseRemote } = await import('../workspace/remote-url.ts')
  const address = parseRemote(text, io.cwd)
  const absolute = address.transport === 'file' ? address.url : text
  return { ...io, environment: { ...io.environment, UNSTUCK_REPO_URL: absolute } }
}
