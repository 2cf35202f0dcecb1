/** The tools of a run in the hands of the real Claude and the real Codex, each started in its own way. */
import { test } from 'vitest'
import { useOwnTools } from './own-tools.ts'

test.each(['claude', 'codex'] as const)('%s uses the tools of its run, and a person answers it', useOwnTools)
