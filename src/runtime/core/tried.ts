/** What was tried against a failure, for a person: each kind of recovery once, with how often and what came of it. Pure. */
import type { Recovery } from '../../store/recovery.ts'

type Tried = Pick<Recovery, 'action' | 'status' | 'detail'>

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const names: Record<string, (action: Tried['action']) => string> = {
  relaunch: ({ addDir, toolRules, feedback, restart, ask }) => {
    if (addDir !== undefined) return `allowed the folder ${textOf(addDir)}`
    if (Array.isArray(toolRules)) return `allowed ${toolRules.join(', ')}`
    if (feedback !== undefined) return 'sent the failure back to the agent'
    if (ask !== undefined) return 'asked the agent for another check'
    return restart === undefined ? 'restarted the agent with the setting corrected' : 'restarted the agent with a hint'
  },
  chmod: ({ directory }) => `changed the mode of ${textOf(directory)}`,
  switch_harness: ({ harness }) => `gave the task to ${textOf(harness)}`,
  drop_command: ({ command }) => `left out the check ${textOf(command)}`,
  replace_command: ({ by }) => `ran ${textOf(by)} instead`,
  reorder: () => 'ran the checks in another order',
  install: () => 'installed the dependencies',
  run_again: () => 'did the task again on the newer base',
  wait: ({ name }) => (name === 'WAIT_FOR_QUOTA' ? 'waited for the limit to reset' : 'waited and started again'),
}

const longest = 160

const shortened = (text: string): string => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text)

export const triedLines = (recoveries: readonly Tried[]): string[] => {
  const groups = Map.groupBy(recoveries, ({ action }) => names[action.type]?.(action) ?? action.name)
  return [...groups].map(([what, all]) => {
    const times = all.length === 1 ? 'once' : all.length === 2 ? 'twice' : `${all.length} times`
    const last = all.at(-1)
    const effect = last?.status === 'success' ? 'it worked, and the task failed later' : (last?.detail ?? '')
    return `${what} ${times}${effect === '' ? '' : `: ${shortened(effect.replaceAll(/\s+/g, ' '))}`}`
  })
}
