/** The sections of the configuration that say how tasks continue after a failure, and what decides about changed paths. */
import { z } from 'zod'
import {
  checkedText,
  limitOrNone,
  lineOfText,
  listOf,
  numberOfSeconds,
  trueOrFalse,
  wholeNumber,
} from './config-values.ts'
import { whyNoGeneratedPath } from '../recovery/policy/generated.ts'

const generatedPaths = 'allowed: a list of paths and globs inside the repository'
const generatedPath = checkedText('allowed: a path or glob inside the repository', whyNoGeneratedPath)

export const recoverySections = {
  change: z.strictObject({
    maxFiles: limitOrNone('files')
      .default(500)
      .meta({ meaning: 'You are asked once before work that changes more files than this is merged. -1 = never.' }),
    maxLines: limitOrNone('lines')
      .default(20_000)
      .meta({ meaning: 'The same for changed lines, added and removed together.' }),
  }),
  requeue: z.strictObject({
    failedSeconds: numberOfSeconds(0).default(30).meta({
      meaning: 'Wait before a failed task starts again.',
      environment: 'FAILED_TASK_RETRY_COOLDOWN_MS',
    }),
    blockedSeconds: numberOfSeconds(0).default(120).meta({
      meaning:
        'Wait before a task whose work did not pass starts again, with what was adjusted. The judge has the same time for a verdict before it is asked again.',
      environment: 'BLOCKED_TASK_RETRY_COOLDOWN_MS',
    }),
    maxRetries: wholeNumber(-1, 1000).default(-1).meta({
      meaning:
        'Maximum number of such starts of a failed task, whatever the cause; each cause has its own limit. -1 = only those.',
      environment: 'FAILED_TASK_MAX_RETRY_COUNT',
    }),
    inPlaceLimit: wholeNumber(-1, 1000).default(5).meta({
      meaning:
        'Maximum number of such starts of one task; after that a new task continues its work. -1 = no limit. With 0 here and for `requeue.reworkDepth` you are asked at once.',
      environment: 'BLOCKED_NEEDS_REWORK_IN_PLACE_RETRY_LIMIT',
    }),
    sameFailureLimit: wholeNumber(2, 1000).default(4).meta({
      meaning: 'After this many runs in a row with the same failure you are asked.',
      environment: 'FAILED_TASK_REPEATED_SIGNATURE_THRESHOLD',
    }),
    suppressionLimit: wholeNumber(0, 1000).default(2).meta({
      meaning: 'Number of waits for a task that changed a path which cannot be allowed, before it is cancelled.',
      environment: 'BLOCKED_POLICY_SUPPRESSION_MAX_RETRIES',
    }),
    reworkDepth: wholeNumber(0, 20).default(2).meta({
      meaning:
        'How many times in a row a new task may continue the work of one that did not pass. 0 = never; you are asked instead.',
      environment: 'AUTO_REWORK_MAX_DEPTH',
    }),
    fruitlessCalls: wholeNumber(-1, 1000).default(4).meta({
      meaning:
        'After this many calls of the agent that bring neither fewer failing tests nor a new failure you are asked; over restarts, starts and tasks that continue each other. -1 = no limit.',
    }),
    linkSeconds: numberOfSeconds(0).default(3600).meta({
      meaning: 'How long a task waits for its link (`blocked(issue_linking)`) before you are asked.',
    }),
  }),
  policyRecovery: z.strictObject({
    useLlm: trueOrFalse.default(true).meta({
      meaning: 'Whether a model may decide about a changed path that no rule decides.',
      environment: 'WORKER_POLICY_RECOVERY_USE_LLM',
    }),
    attempts: wholeNumber(0, 50).default(5).meta({
      meaning:
        'Maximum number of questions to a model about changed paths outside the task in one run; what rules decide is not counted. 0 = such paths go back to the agent at once.',
      environment: 'WORKER_POLICY_RECOVERY_ATTEMPTS',
    }),
    timeoutSeconds: numberOfSeconds(1).default(90).meta({
      meaning: 'Maximum time of one such decision of a model.',
      environment: 'WORKER_POLICY_RECOVERY_TIMEOUT_SECONDS',
    }),
    model: lineOfText('allowed: the name of a model').exactOptional().meta({
      meaning: 'Model that decides. Default: the one of the task.',
      environment: 'WORKER_POLICY_RECOVERY_MODEL',
    }),
    generatedPaths: listOf(generatedPath, generatedPaths).default([]).meta({
      meaning: 'Untracked files that commands make and that are left out of the work.',
      environment: 'GENERATED_PATHS',
    }),
    extraGeneratedPaths: listOf(generatedPath, generatedPaths)
      .default([])
      .meta({ meaning: 'The same, in addition.', environment: 'WORKER_EXTRA_GENERATED_PATHS' }),
    grantDays: wholeNumber(1, 3650).default(30).meta({
      meaning: 'Days without use after which a granted or learned path ends.',
    }),
  }),
  mcp: z.strictObject({
    enabled: trueOrFalse.default(true).meta({
      meaning:
        'Whether agents get the tools of their run (`propose_recovery`, `report_progress`, `ask_person`) as an MCP server. Read at each launch.',
    }),
    waitSeconds: wholeNumber(0, 600).default(45).meta({
      meaning: 'How long an agent waits for your answer to `ask_person` before it ends its turn.',
    }),
  }),
}
