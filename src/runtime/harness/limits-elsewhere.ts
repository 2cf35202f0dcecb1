/**
 * Limits of accounts that other repositories of this user met. Each repository has a store of its own, so each writes the limits that are in force
 * there to a file beside the state folders. A limit that is not written, because its engine was killed at that moment, costs one refused launch.
 */
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import type { AccountLimit } from '../../domain/account.ts'
import { messageOf } from '../../errors.ts'
import { limitedAccounts } from '../../store/account.ts'
import type { Context } from '../core/context.ts'
import { readIfFile, writeStateFile, type Files } from '../core/files.ts'

type Place = Pick<Context, 'ports' | 'stateDir'>

const folderOf = ({ stateDir }: Pick<Place, 'stateDir'>): string => join(dirname(stateDir), 'account-limits')

const ownName = ({ stateDir }: Pick<Place, 'stateDir'>): string => `${basename(stateDir)}.json`

const fileShape = z.array(
  z.strictObject({
    ...{ account: z.string(), harnesses: z.array(z.string()), evidence: z.string() },
    ...{ taskId: z.string(), runId: z.string() },
    until: z.coerce.date(),
    openedAt: z.coerce.date(),
  }),
)

/** None where it cannot be read: a file of another repository must not keep this one from its work. */
const readLimits = (files: Files, path: string): AccountLimit[] => {
  const text = readIfFile(files, path)
  try {
    return text === undefined ? [] : (fileShape.safeParse(JSON.parse(text)).data ?? [])
  } catch {
    return [] // damaged; it is written anew with the next limit
  }
}

type Written = Place & Pick<Context, 'log'>

const write = (place: Written, name: string, limits: readonly AccountLimit[]): void => {
  const { files } = place.ports
  const path = join(folderOf(place), name)
  try {
    if (limits.length === 0) return files.rmSync(path, { force: true })
    files.mkdirSync(folderOf(place), { recursive: true, mode: 0o700 })
    writeStateFile(files, path, JSON.stringify(limits))
  } catch (error) {
    place.log.warn({ error: messageOf(error) }, 'other repositories could not be told of the limit of an account')
  }
}

/** Tells the other repositories which limits are in force in this one. */
export const publishLimits = async (context: Written & Pick<Context, 'db'>): Promise<void> =>
  write(context, ownName(context), await limitedAccounts(context.db))

const others = (place: Place): string[] => {
  try {
    const names = place.ports.files.readdirSync(folderOf(place))
    return names.filter((name) => name.endsWith('.json') && name !== ownName(place))
  } catch {
    return [] // no limit was met yet, or the folder cannot be read
  }
}

/** Those in force now, by this machine's clock. */
export const limitsElsewhere = (place: Place & Pick<Context, 'clock'>): AccountLimit[] => {
  const now = place.clock.now()
  return others(place)
    .flatMap((name) => readLimits(place.ports.files, join(folderOf(place), name)))
    .filter(({ until }) => until > now)
}

/** A person says that the limits of these accounts no longer hold. The repository that met one keeps waiting for it. */
export const forgetLimitsElsewhere = (place: Written, isMeant: (account: string) => boolean): void => {
  for (const name of others(place)) {
    const before = readLimits(place.ports.files, join(folderOf(place), name))
    const left = before.filter(({ account }) => !isMeant(account))
    if (left.length < before.length) write(place, name, left)
  }
}
