/** An agent that neither works nor exits, and ignores every signal that can be ignored. Usage: fault.ts. */
import { runWithFault, neverExit } from './fault.ts'

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
runWithFault(neverExit)
