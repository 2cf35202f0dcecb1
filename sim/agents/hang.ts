/** Opens its session and then neither prints nor exits. Usage: fault.ts. */
import { runWithFault, neverExit } from './fault.ts'

runWithFault(neverExit)
