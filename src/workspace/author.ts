/** The author of Unstuck's commits: the user, as git would name them in this repository. */
import type { Repository } from './repository-types.ts'
import { fieldsOf, git } from './git.ts'
import { inRepository } from './refs.ts'

export interface Identity {
  name: string
  email: string
}

/** Cleans a name as git does: without characters that end the field, and trimmed of punctuation. */
const clean = (text: string | undefined): string =>
  (text ?? '').replace(/\s*[\p{Cc}<>]+\s*/gu, ' ').replace(/^[\s.,:;"'\\]+|[\s.,:;"'\\]+$/g, '')

const identityAs = async (repository: Repository, role: 'author' | 'committer'): Promise<Identity | undefined> => {
  const args = ['config', '-z', '--get-regexp', `^(${role}|user)\\.(name|email)$`]
  const { stdout } = await git(args, { ...inRepository(repository), okCodes: [0, 1] })
  const values = new Map(
    fieldsOf(stdout).map((field) => [field.slice(0, field.indexOf('\n')), field.slice(field.indexOf('\n') + 1)]),
  )
  const of = (key: string): string => clean(values.get(`${role}.${key}`)) || clean(values.get(`user.${key}`))
  const [name, email] = [of('name'), of('email')]
  return name === '' || email === '' ? undefined : { name, email }
}

/** `author.*` before `user.*`, as in git. Undefined where name or address is not set, because git's guess names a machine. */
export const authorOf = (repository: Repository): Promise<Identity | undefined> => identityAs(repository, 'author')

/** The same for whom a signature is by. */
export const committerOf = (repository: Repository): Promise<Identity | undefined> =>
  identityAs(repository, 'committer')
