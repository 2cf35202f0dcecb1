/** Opens its session and then neither prints nor exits. Usage: fault.ts. */
import { play, stay } from './fault.ts'

play(stay)
