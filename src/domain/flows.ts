/** All flow tables, for the generated docs and the tests that compare the store with them. An agent has none: its state is derived. */
import { engineFlow } from './engine.ts'
import { escalationFlow } from './escalation.ts'
import type { Flow } from './flow.ts'
import { goalFlow } from './goal.ts'
import { judgementFlow } from './judgement.ts'
import { mergeFlow } from './merge.ts'
import { proposalFlow } from './recovery-proposal.ts'
import { runFlow } from './run.ts'
import { taskFlow } from './task.ts'

export const flows: readonly Flow[] = [
  goalFlow,
  taskFlow,
  runFlow,
  engineFlow,
  judgementFlow,
  mergeFlow,
  escalationFlow,
  proposalFlow,
]
