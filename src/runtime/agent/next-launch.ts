/** The settings of a relaunch. Corrections accumulate: without the earlier ones the agent would be refused the same again. */
import type { LaunchCorrections } from '../../domain/run.ts'
import type { Action } from '../../recovery/playbook.ts'
import { defined } from '../../domain/defined.ts'

export type Relaunch = Extract<Action, { type: 'relaunch' }>

const union = (before: readonly string[], more: readonly string[]): string[] => [...new Set([...before, ...more])]

export interface NextLaunch {
  corrections: LaunchCorrections
  resumeSession: string | null
  hint: string | null
  /** See `Launch.ask`. */
  ask?: string
}

/** `session`: the agent's session that can be resumed; null = it has none, or this CLI cannot resume. */
export const nextLaunch = (before: LaunchCorrections, action: Relaunch, session: string | null): NextLaunch => ({
  corrections: {
    addDirs: union(before.addDirs, action.addDir === undefined ? [] : [action.addDir]),
    skipGitCheck: before.skipGitCheck || (action.skipGitCheck ?? false),
    toolRules: union(before.toolRules ?? [], action.toolRules ?? []),
  },
  resumeSession: action.resume ? session : null,
  hint: action.hint === '' ? null : action.hint,
  ...defined({ ask: action.ask }),
})
