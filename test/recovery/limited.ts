/** An agent whose account is at its limit, for tests that wait for the reset. */
import type { FaultAgent } from './scene.ts'

/** Refuses until `seconds` after it was first asked, in the words of the subscription's limit. Counts its starts. */
export const limitedFor = (seconds: number, name: string): string => `
    begin()
    count('TOP/starts-${name}')
    const first = 'TOP/first-${name}'
    if (!existsSync(first)) put(first, String(Date.now()))
    const resets = Number(readFileSync(first, 'utf8')) + ${seconds}000
    if (Date.now() < resets) {
      print({ type: 'rate_limit_event', rate_limit_info: { status: 'rejected', resetsAt: resets / 1000, rateLimitType: 'five_hour' } })
      print({ type: 'assistant', error: 'rate_limit', message: { content: [{ type: 'text', text: "You've hit your limit" }] } })
      end({ is_error: true, api_error_status: 429, result: "You've hit your limit" })
      process.exit(1)
    }
    put('made.txt', 'made')
    end()`

export const limited = (seconds: number): FaultAgent => ({ driver: 'claude', program: limitedFor(seconds, 'limited') })
