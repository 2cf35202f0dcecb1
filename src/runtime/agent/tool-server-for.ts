/** Whether a launch gets the tools of its run, and how. Without them it is the same launch, so nothing here can stop a run. */
import type { Capabilities } from '../../harness/capabilities.ts'
import type { ToolServer } from '../../harness/driver.ts'
import { passedVariables, type RunContext } from '../core/run-context.ts'

export const runToolNames = ['propose_recovery', 'report_progress', 'ask_person'] as const

/** Longer than the wait for an answer, so that the tool and not the CLI ends a call. */
const spareSeconds = 30

/** Of every agent, so that a program of the owner's can start `unstuck mcp` by itself. */
export const toolVariables = ({ context, run }: RunContext): Record<string, string> =>
  context.config().mcp.enabled ? (context.runTools?.variables(run) ?? {}) : {}

/** Undefined = switched off, or this CLI cannot take them. */
export const toolServerFor = (runContext: RunContext, can: Capabilities): ToolServer | undefined => {
  const { context, driver, harness, paths } = runContext
  const { enabled, waitSeconds } = context.config().mcp
  const access = context.runTools
  if (!enabled || access === undefined || can.toolServer !== true) return undefined
  if ((driver.toolServerHides ?? []).some((path) => context.ports.files.existsSync(path))) return undefined
  const inheritable = new Set([...driver.environment, ...passedVariables(context.config(), harness)])
  return {
    command: access.command,
    tools: runToolNames,
    variables: Object.keys(toolVariables(runContext)),
    callSeconds: waitSeconds + spareSeconds,
    folder: paths.root,
    inherited: (name) => (inheritable.has(name) ? context.environment[name] : undefined),
  }
}
