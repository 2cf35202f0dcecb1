/**
 * Limits of accounts that other repositories of this user met. Each repository has a store of its own, so each writes the limits that are in force
 * there to a file beside the state folders. A limit that is not written, because its engine was killed at that moment, costs one refused launch.
 */
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import type { AccountLimit } from '../../domain/account.ts'
import { isDamage } from '../../platform/damaged-file.ts'
import { limitedAccounts } from '../../store/account.ts'
import type { Context } from '../core/context.ts'
import { writeStateFile, type Files } from '../core/files.ts'

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

/** Empty where it is missing or damaged: it is written anew with the next limit. */
const readLimits = (files: Files, path: string): AccountLimit[] => {
  try {
    return fileShape.safeParse(JSON.parse(files.readFileSync(path, 'utf8'))).data ?? []
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || isDamage(error)) return []
    throw error
  }
}

const write = (place: Place, name: string, limits: readonly AccountLimit[]): void => {
  const { files } = place.ports
  const path = join(folderOf(place), name)
  if (limits.length === 0) return files.rmSync(path, { force: true })
  files.mkdirSync(folderOf(place), { recursive: true, mode: 0o700 })
  writeStateFile(files, path, JSON.stringify(limits))
}

/** Tells the other repositories which limits are in force in this one. */
export const publishLimits = async (context: Place & Pick<Context, 'db' | 'log'>): Promise<void> => {
  const limits = await limitedAccounts(context.db)
  try {
    write(context, ownName(context), limits)
  } catch (error) {
    context.log.warn({ error: String(error) }, 'other repositories could not be told of the limit of an account')
  }
}

const others = (place: Place): string[] => {
  const { files } = place.ports
  const folder = folderOf(place)
  if (!files.existsSync(folder)) return []
  return files.readdirSync(folder).filter((name) => name.endsWith('.json') && name !== ownName(place))
}

/** Those in force now, by this machine's clock. */
export const limitsElsewhere = (place: Place & Pick<Context, 'clock'>): AccountLimit[] => {
  const now = place.clock.now()
  return others(place)
    .flatMap((name) => readLimits(place.ports.files, join(folderOf(place), name)))
    .filter(({ until }) => until > now)
}

/** A person says that the limits of these accounts no longer hold. The repository that met one keeps waiting for it. */
export const forgetLimitsElsewhere = (place: Place, isMeant: (account: string) => boolean): void => {
  for (const name of others(place)) {
    const before = readLimits(place.ports.files, join(folderOf(place), name))
    const left = before.filter(({ account }) => !isMeant(account))
    if (left.length < before.length) write(place, name, left)
  }
}
