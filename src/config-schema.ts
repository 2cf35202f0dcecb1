/**
 * The keys of `.unstuck/config.json`: their types, defaults, what is allowed and what they mean. docs/config.md is made
 * from this table. All objects are closed. It reads no file and no environment; `config.ts` does.
 */
import { z } from 'zod'
import {
  argument,
  atLeast,
  choice,
  commandLine,
  directory,
  filePath,
  limit,
  list,
  pathRule,
  seconds,
  text,
  variable,
  whole,
} from './config-values.ts'
import { driverNames, isKnownHarness, type DriverName } from './harness/names.ts'
import { standardLoop } from './recovery/doom-loop.ts'
import { standardStall } from './recovery/stall.ts'

export type PromptMode = 'argument' | 'stdin' | 'file'

export interface HarnessConfig {
  /** Always set after loading: as written, else by the name, else `command` where an argv is given. */
  driver: DriverName
  command?: string[]
  args: string[]
  model?: string
  env: string[]
  promptMode?: PromptMode
  unrestricted?: boolean
}

const argvError = 'allowed: a list of texts, the program first'

/** A name that is also safe as an option value, a file name and a key with dots around it. */
export const harnessNamePattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

export const harnessShape = {
  driver: choice(driverNames)
    .exactOptional()
    .meta({ meaning: 'How the program is spoken to. Absent: as the name says, else `command`.' }),
  command: list(argument, argvError)
    .refine((argv) => (argv[0] ?? '') !== '', { error: argvError })
    .exactOptional()
    .meta({ meaning: 'Program and first arguments (argv). Replaces the program of the driver.' }),
  args: list(argument, 'allowed: a list of texts')
    .default([])
    .meta({ meaning: 'Further arguments, before the prompt.' }),
  model: text('allowed: the name of a model').exactOptional().meta({ meaning: 'Model that the program is asked for.' }),
  env: list(variable, 'allowed: a list of names')
    .default([])
    .meta({ meaning: 'Environment variables handed to this program.' }),
  promptMode: choice(['argument', 'stdin', 'file'])
    .exactOptional()
    .meta({ meaning: 'How the `command` driver hands over the prompt.' }),
  unrestricted: z.boolean({ error: 'allowed: true or false' }).exactOptional().meta({
    meaning:
      'Runs the CLI in its own mode without permissions or sandbox: its agents may run and write anything that you may. For a machine or container that may be lost.',
  }),
}

const writtenHarness = z.strictObject(harnessShape)

const resolveHarness = (name: string, written: z.output<typeof writtenHarness>): HarnessConfig | string => {
  const byName = driverNames.find((driver) => driver === name)
  const driver = written.driver ?? byName ?? (written.command === undefined ? undefined : 'command')
  if (driver === undefined)
    return `it names no driver; allowed: driver ${driverNames.map((known) => `"${known}"`).join(', ')}, or a command`
  if (!isKnownHarness(driver) && written.command === undefined) return `the driver "${driver}" needs a command (argv)`
  return { ...written, driver }
}

export const harness = z
  .object({
    default: text('allowed: the name of a harness').exactOptional().meta({
      meaning: 'Harness used where a task names none. Absent: the first one found.',
      environment: 'UNSTUCK_HARNESS',
    }),
    failover: list(text('allowed: the name of a harness'), 'allowed: a list of names').exactOptional().meta({
      meaning:
        'Harnesses to go on with, in this order, when the account of a task is at its limit, also of one that has not begun. A task that names a model stays with its harness.',
    }),
  })
  .catchall(writtenHarness)
  .transform(({ default: standard, failover, ...rest }, context) => {
    const named: Record<string, HarnessConfig> = {}
    for (const [name, written] of Object.entries(rest)) {
      const resolved = harnessNamePattern.test(name)
        ? resolveHarness(name, written)
        : 'the name may hold letters, digits, "-" and "_" only'
      if (typeof resolved === 'string') context.addIssue({ code: 'custom', path: [name], message: resolved })
      else named[name] = resolved
    }
    return {
      ...(standard === undefined ? {} : { default: standard }),
      ...(failover === undefined ? {} : { failover }),
      named,
    }
  })

const limitsShape = {
  runSeconds: limit('seconds').default(3600).meta({ meaning: 'Time one run may take.' }),
  runTokens: limit('tokens').exactOptional().meta({ meaning: 'Tokens one run may use.' }),
  runCostUsd: limit('US dollars').exactOptional().meta({ meaning: 'Money one run may cost.' }),
  goalSeconds: limit('seconds').exactOptional().meta({ meaning: 'Agent time all runs of a goal may take together.' }),
  goalTokens: limit('tokens').exactOptional().meta({ meaning: 'Tokens all runs of a goal may use together.' }),
  goalCostUsd: limit('US dollars').exactOptional().meta({ meaning: 'Money all runs of a goal may cost together.' }),
}

/** After loading an absent limit is no limit. */
export type Limits = { [K in keyof typeof limitsShape]?: number }

const withoutLifted = (limits: Limits): Limits =>
  Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== -1))

export const folders = {
  lease: z.strictObject({
    ttlSeconds: whole(5, 86_400).default(300).meta({ meaning: 'Life of a lease without a sign of its holder.' }),
  }),
  lanes: z.strictObject({
    featureMinSlots: whole(0, 256).default(1).meta({
      meaning: 'Agents that tasks of other lanes leave to features while features wait.',
      environment: 'DISPATCH_FEATURE_LANE_MIN_SLOTS',
    }),
    conflictRecoveryMaxSlots: whole(-1, 256).default(2).meta({
      meaning: 'Most tasks of the lane `conflict_recovery` at work at once; -1 = no limit.',
      environment: 'DISPATCH_CONFLICT_LANE_MAX_SLOTS',
    }),
    docserMaxSlots: whole(-1, 256).default(1).meta({
      meaning: 'Most tasks of the lane `docser` at work at once; -1 = no limit.',
      environment: 'DISPATCH_DOCSER_LANE_MAX_SLOTS',
    }),
  }),
  admission: z.strictObject({
    minFreeDiskMb: whole(0, 100_000_000)
      .default(1024)
      .meta({ meaning: 'Free disk space (MB, where the state folder is) below which no new run begins.' }),
    minFreeMemoryMb: whole(0, 100_000_000)
      .default(256)
      .meta({ meaning: 'Available memory (MB) below which no new run begins.' }),
    maxLoadPerCore: z
      .number({ error: 'allowed: a number above 0, or -1 for no limit' })
      .refine((value) => value === -1 || value > 0, { error: 'allowed: a number above 0, or -1 for no limit' })
      .default(-1)
      .meta({ meaning: 'Load of the last minute per core above which no new run begins; -1 = no limit.' }),
  }),
  limits: z.strictObject(limitsShape),
  verify: z.strictObject({
    commands: list(argument, 'allowed: a list of commands')
      .exactOptional()
      .meta({ meaning: 'Checks of every task that names none. Absent: inferred from the repository.' }),
    knownFailures: list(argument, 'allowed: a list of names of tests, or of commands').default([]).meta({
      meaning:
        'Tests by name, or whole commands, that may stay red where they were red before the work ("*" stands for any characters). Others keep a goal from landing by itself.',
    }),
    timeoutSeconds: seconds(1).default(600).meta({ meaning: 'Time one check may take.' }),
    totalSeconds: seconds(1).default(1800).meta({ meaning: 'Time all checks of a run may take together.' }),
  }),
  workspace: z.strictObject({
    setup: commandLine.exactOptional().meta({
      meaning:
        'Command that runs in a fresh workspace before the agent starts, and before checks in a clone of their own, e.g. `npm run codegen`. What it writes is not part of the work. Not used with `repoMode` `direct`.',
    }),
    setupSeconds: seconds(1).default(600).meta({ meaning: 'Time the set-up may take.' }),
    copy: list(filePath, 'allowed: a list of files').default([]).meta({
      meaning:
        'Untracked files of the checkout, by exact name, that are copied into a fresh workspace, e.g. `.env.test`. They are never part of a commit.',
    }),
  }),
  retry: z.strictObject({
    transientBaseSeconds: seconds(0).default(30).meta({
      meaning: 'Wait before the first retry after a transient failure; it doubles each time.',
      environment: 'FAILED_TASK_RETRY_COOLDOWN_MS',
    }),
    transientMaxSeconds: seconds(0).default(1800).meta({ meaning: 'Longest wait between two retries.' }),
    transientLimit: whole(-1, 1000).default(6).meta({
      meaning: 'Retries after transient failures; -1 lifts the limit.',
      environment: 'FAILED_TASK_MAX_RETRY_COUNT',
    }),
    quotaBaseSeconds: seconds(0).default(120).meta({
      meaning: 'Wait for a limit of the provider that names no time of its reset; it doubles each time.',
      environment: 'BLOCKED_TASK_RETRY_COOLDOWN_MS',
    }),
    quotaMaxSeconds: seconds(0).default(1800).meta({ meaning: 'Longest such wait.' }),
  }),
  stall: z.strictObject({
    silenceSeconds: limit('seconds').default(standardStall.silenceSeconds).meta({
      meaning:
        'Time an agent may print nothing while nothing in its process tree uses the processor; then it is restarted. -1 = no limit.',
    }),
    afterToolResultSeconds: limit('seconds').default(standardStall.afterToolResultSeconds).meta({
      meaning: 'The same, when the last that it printed was the answer to a tool call. -1 = no limit.',
    }),
    toolSeconds: limit('seconds').default(standardStall.toolSeconds).meta({
      meaning:
        'The same, while the CLI shows a tool as running: it may wait for something elsewhere, so this is longer. -1 = no limit.',
    }),
    promptSeconds: limit('seconds').default(standardStall.promptSeconds).meta({
      meaning: 'The same, when it waits at a question that nobody will answer. -1 = no limit.',
    }),
    probeSeconds: limit('seconds')
      .default(standardStall.probeSeconds)
      .meta({ meaning: 'Such quiet after which an event tells of it, without consequence. -1 = never.' }),
    busyCpuPercent: z
      .number({ error: 'allowed: a number above 0, up to 100' })
      .gt(0, { error: 'allowed: a number above 0, up to 100' })
      .max(100, { error: 'allowed: a number above 0, up to 100' })
      .default(standardStall.busyCpuPercent)
      .meta({ meaning: 'Share of one core from which on a process tree is at work, and these clocks stand still.' }),
    lingerSeconds: seconds(0).default(standardStall.lingerSeconds).meta({
      meaning: 'Time a program has to leave after its own final event; then it is ended, and its result counts.',
    }),
  }),
  doomLoop: z.strictObject({
    sameCalls: atLeast(2, 100).default(standardLoop.sameCalls).meta({
      meaning:
        'Tool calls in a row with the same input and the same answer that make a doom loop; the agent is restarted. -1 = off.',
    }),
    pingPong: atLeast(2, 30)
      .default(standardLoop.pingPong)
      .meta({ meaning: 'Rounds of two or three such calls in turn that make one. -1 = off.' }),
    callsWithoutChange: atLeast(20, 100_000).default(standardLoop.callsWithoutChange).meta({
      meaning: 'Tool calls without any change of the work, most of them repeated, that make one. -1 = off.',
    }),
    ownRetries: atLeast(2, 100_000).default(standardLoop.ownRetries).meta({
      meaning:
        'Retries of its own after which a program is ended; what it retried for is then what failed. -1 = no limit.',
    }),
  }),
  remote: z.strictObject({
    timeoutSeconds: seconds(1).default(300).meta({
      meaning:
        'Time one fetch from or push to a repository by URL (`--repo`) may take; the first fetch may take six times that.',
    }),
  }),
  playbooks: z.strictObject({
    disabled: list(text('allowed: the name of a playbook'), 'allowed: a list of names')
      .default([])
      .meta({ meaning: 'Playbooks that are never used.' }),
  }),
}

const limitsSchema = folders.limits.transform(withoutLifted)

export const configSchema = z.strictObject({
  harness: harness.prefault({}),
  allowedDirs: list(directory, 'allowed: a list of absolute folders').default([]).meta({
    meaning:
      'Folders outside the workspace that an agent may be given. Never `/`, the home folder, a folder around it, or a link to one of them.',
  }),
  autoMerge: z
    .boolean({ error: 'allowed: true, false' })
    .default(false)
    .meta({ meaning: 'Fast-forward the checked-out branch when a goal is finished.' }),
  repoMode: choice(['local', 'direct'])
    .default('local')
    .meta({ meaning: '`local`: agents work in clones. `direct`: in place, no commit is made.' }),
  maxParallel: whole(1, 256)
    .default(2)
    .meta({ meaning: 'Agents at work at the same time.', environment: 'UNSTUCK_MAX_PARALLEL' }),
  lease: folders.lease.prefault({}),
  lanes: folders.lanes.prefault({}),
  admission: folders.admission.prefault({}),
  limits: limitsSchema.prefault({}),
  verify: folders.verify.prefault({}),
  workspace: folders.workspace.prefault({}),
  retry: folders.retry.prefault({}),
  stall: folders.stall.prefault({}),
  doomLoop: folders.doomLoop.prefault({}),
  remote: folders.remote.prefault({}),
  playbooks: folders.playbooks.prefault({}),
  deniedPaths: list(pathRule, 'allowed: a list of paths or globs')
    .default([])
    .meta({ meaning: 'Paths that no run may change, whatever its task allows.' }),
  env: list(variable, 'allowed: a list of names')
    .default([])
    .meta({ meaning: 'Environment variables handed to agents and checks.' }),
})

export type Config = z.output<typeof configSchema>
