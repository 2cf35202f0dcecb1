/**
 * The keys of `.unstuck/config.json` with their types, defaults, allowed values and meanings. docs/config.md is generated
 * from this table. All objects are closed, so a misspelt key is an error. Files and environment are read in `config.ts`.
 */
import { z } from 'zod'
import {
  textWithoutNul,
  thresholdOrOff,
  oneOf,
  commandLine,
  absoluteFolder,
  filePath,
  filterName,
  limitOrNone,
  listOf,
  pathRule,
  trueOrFalse,
  numberOfSeconds,
  lineOfText,
  variableName,
  wholeNumber,
} from './config-values.ts'
import { forgeSection } from './config-forge.ts'
import { plannerSection } from './config-planner.ts'
import { judgeSection } from './config-judge.ts'
import { gitSection } from './config-git.ts'
import { loopSection } from './config-loop.ts'
import { admissionSection, storageSection } from './config-storage.ts'
import { proposalSections } from './config-proposals.ts'
import { notifySections } from './config-notify.ts'
import { recoverySections } from './config-recovery.ts'
import { withoutLifted } from '../domain/budget.ts'
import { driverNames, isKnownHarness, type DriverName } from '../harness/names.ts'
import { defaultLoopSettings } from '../recovery/doom-loop.ts'
import { defaultStallSettings } from '../recovery/stall.ts'
import { defined } from '../domain/defined.ts'

export type PromptMode = 'argument' | 'stdin' | 'file'

export interface HarnessConfig {
  /** Always set after loading: as written, else the driver of the harness's name, else `command` where an argv is given. */
  driver: DriverName
  command?: string[]
  args: string[]
  model?: string
  env: string[]
  promptMode?: PromptMode
  unrestricted?: boolean
}

const argvError = 'allowed: a list of texts, the program first'

/** Names are also used as option values, as file names and in dotted keys, so other characters are refused. */
export const harnessNamePattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

export const harnessShape = {
  driver: oneOf(driverNames).exactOptional().meta({
    meaning: 'Driver that starts and reads the program. Default: the driver of the same name, else `command`.',
  }),
  command: listOf(textWithoutNul, argvError)
    .refine((argv) => (argv[0] ?? '') !== '', { error: argvError })
    .exactOptional()
    .meta({ meaning: 'Program and its first arguments (argv), instead of the program of the driver.' }),
  args: listOf(textWithoutNul, 'allowed: a list of texts')
    .default([])
    .meta({ meaning: 'Further arguments, placed before the prompt.' }),
  model: lineOfText('allowed: the name of a model')
    .exactOptional()
    .meta({ meaning: 'Model that the program is told to use.' }),
  env: listOf(variableName, 'allowed: a list of names')
    .default([])
    .meta({ meaning: 'Environment variables that this program gets in addition to the common ones.' }),
  promptMode: oneOf(['argument', 'stdin', 'file'])
    .exactOptional()
    .meta({ meaning: 'How the `command` driver passes the prompt.' }),
  unrestricted: z.boolean({ error: 'allowed: true or false' }).exactOptional().meta({
    meaning:
      'Runs the CLI in its own mode without permissions or sandbox: its agents may run and write anything that you may. Only for a machine or container that you can afford to lose.',
  }),
}

const writtenHarness = z.strictObject(harnessShape)

const resolveHarness = (name: string, written: z.output<typeof writtenHarness>): HarnessConfig | string => {
  const byName = driverNames.find((driver) => driver === name)
  const driver = written.driver ?? byName ?? (written.command === undefined ? undefined : 'command')
  if (driver === undefined)
    return `it has neither a driver nor a command; allowed: driver ${driverNames.map((known) => `"${known}"`).join(', ')}, or a command`
  if (!isKnownHarness(driver) && written.command === undefined)
    return `its driver "${driver}" needs the program to run; add "command": ["<program>", …]`
  return { ...written, driver }
}

export const harnessSchema = z
  .object({
    default: lineOfText('allowed: the name of a harness').exactOptional().meta({
      meaning: 'Harness of tasks that name none. Default: the first one that is installed.',
      environment: 'UNSTUCK_HARNESS',
    }),
    failover: listOf(lineOfText('allowed: the name of a harness'), 'allowed: a list of names').exactOptional().meta({
      meaning:
        'Harnesses that take over, in this order, when the account of a task is at its limit; also for queued tasks. A task that names a model stays with its harness.',
    }),
  })
  .catchall(writtenHarness)
  .transform(({ default: preferred, failover, ...rest }, context) => {
    const named: Record<string, HarnessConfig> = {}
    for (const [name, written] of Object.entries(rest)) {
      const resolved = harnessNamePattern.test(name)
        ? resolveHarness(name, written)
        : 'the name is not allowed; allowed: letters, digits, "-" and "_", at most 64, beginning with a letter or digit'
      if (typeof resolved === 'string') context.addIssue({ code: 'custom', path: [name], message: resolved })
      else named[name] = resolved
    }
    return {
      ...defined({ default: preferred, failover }),
      named,
    }
  })

const limitsShape = {
  runSeconds: limitOrNone('seconds').default(3600).meta({ meaning: 'Maximum time of one run.' }),
  runTokens: limitOrNone('tokens').exactOptional().meta({ meaning: 'Maximum number of tokens of one run.' }),
  runCostUsd: limitOrNone('US dollars').exactOptional().meta({ meaning: 'Maximum cost of one run.' }),
  goalSeconds: limitOrNone('seconds')
    .exactOptional()
    .meta({ meaning: 'Maximum agent time of all runs of a goal together.' }),
  goalTokens: limitOrNone('tokens')
    .exactOptional()
    .meta({ meaning: 'Maximum number of tokens of all runs of a goal together.' }),
  goalCostUsd: limitOrNone('US dollars')
    .exactOptional()
    .meta({ meaning: 'Maximum cost of all runs of a goal together.' }),
  hourTokens: limitOrNone('tokens').exactOptional().meta({
    meaning:
      'Maximum number of tokens that all runs and reviews of this repository use in an hour. At the limit no task starts until enough of them are older; a run that has begun goes on.',
    environment: 'HOURLY_TOKEN_LIMIT',
  }),
}

export const sections = {
  lease: z.strictObject({
    ttlSeconds: wholeNumber(5, 86_400).default(300).meta({
      meaning: 'Time after which a lease that its engine does not renew expires, and the task may be claimed again.',
    }),
  }),
  lanes: z.strictObject({
    featureMinSlots: wholeNumber(0, 256).default(1).meta({
      meaning: 'Agents reserved for tasks of the lane `feature` while such tasks wait.',
      environment: 'DISPATCH_FEATURE_LANE_MIN_SLOTS',
    }),
    conflictRecoveryMaxSlots: wholeNumber(-1, 256).default(2).meta({
      meaning: 'Maximum number of running tasks of the lane `conflict_recovery`; -1 = no limit.',
      environment: 'DISPATCH_CONFLICT_LANE_MAX_SLOTS',
    }),
    docserMaxSlots: wholeNumber(-1, 256).default(1).meta({
      meaning: 'Maximum number of running tasks of the lane `docser` (docs); -1 = no limit.',
      environment: 'DISPATCH_DOCSER_LANE_MAX_SLOTS',
    }),
  }),
  admission: z.strictObject(admissionSection),
  limits: z.strictObject(limitsShape),
  verify: z.strictObject({
    commands: listOf(textWithoutNul, 'allowed: a list of commands')
      .exactOptional()
      .meta({ meaning: 'Checks of tasks that name none. Default: inferred from the repository.' }),
    knownFailures: listOf(textWithoutNul, 'allowed: a list of names of tests, or of commands').default([]).meta({
      meaning:
        'Tests by name, or whole commands, that may keep failing if they failed before the work ("*" matches any characters). Other such failures stop a goal from landing by itself.',
    }),
    proof: z.enum(['off', 'report', 'require']).default('require').meta({
      meaning:
        'Whether passing checks must prove the work: each is run again on mixes of the base commit and the work, and has to fail where the work is missing. `report`: what they prove is said, but only lists of weakened checks hold work. `off`: no check runs again.',
    }),
    proofSeconds: numberOfSeconds(0).default(60).meta({
      meaning:
        'Checks of a run that take longer than this together are not run again as a proof, and the work is verified without one.',
    }),
    expectations: z.enum(['hold', 'land']).default('hold').meta({
      meaning:
        'Whether a goal whose work changed what tests of the base commit expect waits for `unstuck land` (`hold`) or lands by itself.',
    }),
    skipMissingExplicitScript: trueOrFalse.default(true).meta({
      meaning:
        'Whether a check that the task names and that cannot run (missing script, unsupported form) may be dropped while others remain. `false`: the run keeps it and does not pass; the next start of its task is without it.',
      environment: 'WORKER_VERIFY_SKIP_MISSING_EXPLICIT_SCRIPT',
    }),
    timeoutSeconds: numberOfSeconds(1).default(600).meta({ meaning: 'Maximum time of one check.' }),
    totalSeconds: numberOfSeconds(1).default(1800).meta({ meaning: 'Maximum time of all checks of a run together.' }),
  }),
  workspace: z.strictObject({
    setup: commandLine.exactOptional().meta({
      meaning:
        'Command that prepares a fresh workspace before the agent starts, and a fresh clone before its checks, e.g. `npm run codegen`. What it writes is not part of the work. Ignored with `repoMode` `direct`.',
    }),
    setupSeconds: numberOfSeconds(1).default(600).meta({ meaning: 'Maximum time of `workspace.setup`.' }),
    copy: listOf(filePath, 'allowed: a list of files').default([]).meta({
      meaning:
        'Untracked files of the checkout, by exact path, that are copied into a fresh workspace, e.g. `.env.test`. They are never part of a commit. Ignored files that a `.worktreeinclude` names are copied as well.',
    }),
    filters: listOf(filterName, 'allowed: a list of names of filter drivers').default([]).meta({
      meaning:
        "Content filters (`filter` in .gitattributes) that may run although only the repository's own git configuration defines them, e.g. `git-crypt`. Those of your own git configuration, such as `lfs`, always run. What a filter should store and cannot becomes a question.",
    }),
  }),
  retry: z.strictObject({
    transientBaseSeconds: numberOfSeconds(0).default(30).meta({
      meaning: 'Wait before the first retry after a transient failure. It doubles with each retry.',
      environment: 'FAILED_TASK_RETRY_COOLDOWN_MS',
    }),
    transientMaxSeconds: numberOfSeconds(0).default(1800).meta({ meaning: 'Longest wait between two such retries.' }),
    transientLimit: wholeNumber(-1, 1000).default(6).meta({
      meaning: 'Maximum number of retries after transient failures; -1 = no limit.',
      environment: 'FAILED_TASK_MAX_RETRY_COUNT',
    }),
    quotaBaseSeconds: numberOfSeconds(0).default(120).meta({
      meaning: 'First wait when a provider reports a limit without the time of its reset. It doubles with each wait.',
      environment: 'BLOCKED_TASK_RETRY_COOLDOWN_MS',
    }),
    quotaMaxSeconds: numberOfSeconds(0).default(1800).meta({ meaning: 'Longest such wait.' }),
  }),
  ...recoverySections,
  ...proposalSections,
  ...notifySections,
  stall: z.strictObject({
    silenceSeconds: limitOrNone('seconds').default(defaultStallSettings.silenceSeconds).meta({
      meaning:
        'An agent is restarted when it prints nothing, nothing arrives on its connections and nothing in its process tree uses the processor for this long; for twice as long where connections cannot be read and its CLI prints whole answers. -1 = never.',
    }),
    afterToolResultSeconds: limitOrNone('seconds').default(defaultStallSettings.afterToolResultSeconds).meta({
      meaning: 'The same, when its last output was the result of a tool call. -1 = never.',
    }),
    toolSeconds: limitOrNone('seconds').default(defaultStallSettings.toolSeconds).meta({
      meaning: 'The same, while the CLI reports a running tool, which may wait for another machine. -1 = never.',
    }),
    promptSeconds: limitOrNone('seconds').default(defaultStallSettings.promptSeconds).meta({
      meaning: 'The same, when it waits for input, which it never gets. -1 = never.',
    }),
    probeSeconds: limitOrNone('seconds').default(defaultStallSettings.probeSeconds).meta({
      meaning: 'After this much silence without processor use an event is recorded; nothing else happens. -1 = never.',
    }),
    busyCpuPercent: z
      .number({ error: 'allowed: a number above 0, up to 100' })
      .gt(0, { error: 'allowed: a number above 0, up to 100' })
      .max(100, { error: 'allowed: a number above 0, up to 100' })
      .default(defaultStallSettings.busyCpuPercent)
      .meta({
        meaning: 'A process tree that uses at least this share of one core is working, and its silence is not counted.',
      }),
    lingerSeconds: numberOfSeconds(0).default(defaultStallSettings.lingerSeconds).meta({
      meaning: 'Time a program has to exit after its final event. Then it is ended, and its result counts.',
    }),
  }),
  doomLoop: z.strictObject({
    sameCalls: thresholdOrOff(2, 100).default(defaultLoopSettings.sameCalls).meta({
      meaning:
        'An agent is restarted after this many tool calls in a row with the same input and the same result. -1 = never.',
    }),
    pingPong: thresholdOrOff(2, 30)
      .default(defaultLoopSettings.pingPong)
      .meta({ meaning: 'The same, after this many rounds of two or three such calls in turn. -1 = never.' }),
    callsWithoutChange: thresholdOrOff(20, 100_000).default(defaultLoopSettings.callsWithoutChange).meta({
      meaning: 'The same, after this many tool calls that change no file, most of them repeated. -1 = never.',
    }),
    ownRetries: thresholdOrOff(2, 100_000).default(defaultLoopSettings.ownRetries).meta({
      meaning:
        'A CLI is ended after this many retries of its own; the error that it retried is then the failure. -1 = never.',
    }),
  }),
  judge: judgeSection,
  forge: forgeSection,
  planner: plannerSection,
  loop: loopSection,
  git: z.strictObject(gitSection),
  storage: z.strictObject(storageSection),
  remote: z.strictObject({
    timeoutSeconds: numberOfSeconds(1).default(300).meta({
      meaning:
        'Maximum time of one fetch from or push to a repository by URL (`--repo`). The first fetch may take six times as long.',
    }),
  }),
  playbooks: z.strictObject({
    disabled: listOf(lineOfText('allowed: the name of a playbook'), 'allowed: a list of names').default([]).meta({
      meaning: 'Playbooks that are never used, by their names in docs/recovery.md; `own:<name>` for one of yours.',
    }),
  }),
}

const limitsSchema = sections.limits.transform(withoutLifted)

export const configSchema = z.strictObject({
  harness: harnessSchema.prefault({}),
  allowedDirs: listOf(absoluteFolder, 'allowed: a list of absolute folders').default([]).meta({
    meaning:
      'Folders outside the workspace that agents may use. Not allowed: `/`, the home folder, a folder that contains it, or a link to one of these.',
  }),
  autoMerge: z
    .boolean({ error: 'allowed: true, false' })
    .default(false)
    .meta({ meaning: 'Fast-forwards the checked-out branch when a goal is finished.' }),
  repoMode: oneOf(['local', 'direct']).default('local').meta({
    meaning:
      '`local`: agents work in clones. `direct`: agents work in your folder, one at a time, and no commit is made.',
  }),
  maxParallel: wholeNumber(1, 256)
    .default(2)
    .meta({ meaning: 'Maximum number of agents that work at the same time.', environment: 'UNSTUCK_MAX_PARALLEL' }),
  lease: sections.lease.prefault({}),
  lanes: sections.lanes.prefault({}),
  admission: sections.admission.prefault({}),
  limits: limitsSchema.prefault({}),
  verify: sections.verify.prefault({}),
  workspace: sections.workspace.prefault({}),
  retry: sections.retry.prefault({}),
  change: sections.change.prefault({}),
  requeue: sections.requeue.prefault({}),
  judge: sections.judge.prefault({}),
  forge: sections.forge.prefault({}),
  planner: sections.planner.prefault({}),
  policyRecovery: sections.policyRecovery.prefault({}),
  recovery: sections.recovery.exactOptional(),
  mcp: sections.mcp.prefault({}),
  stall: sections.stall.prefault({}),
  doomLoop: sections.doomLoop.prefault({}),
  loop: sections.loop.prefault({}),
  git: sections.git.prefault({}),
  storage: sections.storage.prefault({}),
  remote: sections.remote.prefault({}),
  playbooks: sections.playbooks.prefault({}),
  webhooks: sections.webhooks.prefault({}),
  notify: sections.notify.prefault({}),
  deniedPaths: listOf(pathRule, 'allowed: a list of paths or globs')
    .default([])
    .meta({ meaning: 'Paths that no run may change, even if its task allows them.' }),
  env: listOf(variableName, 'allowed: a list of names')
    .default([])
    .meta({ meaning: 'Environment variables that agents and checks get in addition to the common ones.' }),
})

export type Config = z.output<typeof configSchema>
