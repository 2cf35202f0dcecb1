/** Neither works nor ends, and ignores every signal that it can. Usage: fault.ts. */
import { play, stay } from './fault.ts'

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
play(stay)
