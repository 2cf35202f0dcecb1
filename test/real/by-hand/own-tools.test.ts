/** The same as test/real/own-tools.test.ts with the CLIs that CI does not install. */
import { test } from 'vitest'
import { useOwnTools } from '../own-tools.ts'

test.each(['gemini', 'opencode'] as const)('%s uses the tools of its run, and a person answers it', useOwnTools)
