/** What agents used lately, which accounts are at their limit, and how many tasks wait for that. Reads only. */
import { hourTokensReached } from '../../domain/hour-tokens.ts'
import { limitedAccounts } from '../../store/account.ts'
import { recentSpend, tokensOfLastHour } from '../../store/spent.ts'
import { storeNow } from '../../store/event.ts'
import { countWaitingForLimit } from '../../store/queue.ts'
import type { Context } from '../core/context.ts'
import { foreignLimits } from '../harness/accounts.ts'

export const quotaView = async (context: Context) => {
  const { db, config } = context
  const limit = config().limits.hourTokens
  const launches = await tokensOfLastHour(db)
  return {
    at: await storeNow(db),
    harnesses: await recentSpend(db),
    limits: [...(await limitedAccounts(db)), ...foreignLimits(context)],
    waiting: await countWaitingForLimit(db),
    hourTokens: {
      limit: limit ?? null,
      used: launches.reduce((sum, { tokens }) => sum + tokens, 0),
      until: hourTokensReached(limit, launches)?.until ?? null,
    },
  }
}
