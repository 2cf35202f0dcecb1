/** What is asked about a path before a run, and the answer. */
import type { CarriedPath } from './carried-paths.ts'
import type { PathTask } from './auto-allow.ts'
import type { HeldArea } from './path-safety.ts'
import type { PolicyRecovery } from './recovery-policy.ts'

/** What git knows of the path in the owner's checkout. */
export interface PathFacts {
  /** git's mode of the path; `000000` = it does not exist. */
  mode: string
  linkTarget?: string
  /** Whether the last commit has it. Such a file is never left out as generated. */
  tracked: boolean
  /** The ignore rule that covers it, as "file:line: pattern". */
  ignoredBy?: string
}

export interface PathQuestion {
  path: string
  facts: PathFacts
  /** Absent = no task is named: nothing is allowed by a task, and no rule finds one of its commands. */
  task?: PathTask
  /** Denied for every task, each with where that is set. */
  denied: readonly { path: string; from: string }[]
  policy: PolicyRecovery
  generated: readonly GeneratedRule[]
  held: readonly HeldArea[]
  /** Paths that the task may change in addition to its own. */
  grants: readonly GrantFact[]
  /** Files of the task's paths that commits renamed since the task was made. */
  carried?: readonly CarriedPath[]
  /** `policyRecovery.attempts`: with 0, no rule is asked. */
  attempts: number
  /** `policyRecovery.useLlm` */
  useLlm: boolean
  /** Ids of playbooks that the owner switched off. */
  disabled: readonly string[]
  /** The work is done in the user's own folder, where nothing is left out. */
  isDirect: boolean
}

export interface GeneratedRule {
  pattern: string
  /** The setting, or what was observed when the path was learned. */
  from: string
  /** What would change it. */
  change: string
}

export interface GrantFact {
  path: string
  /** Who granted it to whom, when, why, and when it ends. */
  from: string
  change: string
}

/** `tested`: the checks run in a clean clone without the file; it is left out if one of them makes it again. */
export type PathDecision = 'allowed' | 'left out' | 'tested' | 'asked' | 'refused'

export interface PathStep {
  rule: string
  /** In words for a person: what the rule looks at. */
  question: string
  decides: boolean
}

export interface PathAnswer {
  decision: PathDecision
  rule: string
  because: string
  /** The setting, list or record that the rule comes from. */
  from: string
  /** What would change the answer, in words or as a command. `TASK` stands for the id of the task. */
  change: string
  /** The rules up to the one that decides. */
  steps: PathStep[]
}

/** Undefined = the rule does not decide. */
export type PathVerdict = Omit<PathAnswer, 'steps'> | undefined

export const noTask: PathTask = {
  ...{ role: 'worker', title: '', instructions: '', commands: [], contextFiles: [], allowedPaths: [], deniedPaths: [] },
}
