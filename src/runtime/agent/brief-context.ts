/** What a brief says about the machine, and about what failed on it lately. */
import { keysOfCommands } from '../../recovery/host-keys.ts'
import { portLines } from '../core/reserved-ports.ts'
import type { RunContext } from '../core/run-context.ts'
import type { BriefInput } from './brief.ts'
import { failureDelta, type FailureDelta } from './failure-delta.ts'
import { hostContext, type HostSnapshot } from './host-snapshot.ts'
import { preparedBriefLines, readPrepared } from './prepared.ts'

const hostFactNames = ['shell', 'terminal', 'cpu', 'memory'] as const

const toolPrefix = 'tools.'

/** The system always; of all other facts those with these keys. A missing tool is a fact as well. */
export const hostLines = ({ host, tools }: HostSnapshot, keys: readonly string[]): string[] => {
  const named = keys.flatMap((key) => (key.startsWith(toolPrefix) ? [key.slice(toolPrefix.length)] : []))
  const present = named.filter((name) => tools[name] !== undefined)
  const missing = named.filter((name) => tools[name] === undefined)
  return [
    `System: ${host.os}, ${host.kernel}, ${host.arch}`,
    ...(present.length === 0 ? [] : [`Tools: ${present.map((name) => `${name} ${tools[name]}`).join(', ')}`]),
    ...(missing.length === 0 ? [] : [`No usable version on the PATH: ${missing.join(', ')}`]),
    ...hostFactNames.flatMap((name) => {
      const fact = host[name]
      return fact === undefined || !keys.includes(`host.${name}`) ? [] : [`${name}: ${fact}`]
    }),
  ]
}

const mostFailures = 3

type ReasonSignature = FailureDelta['reasonSignatures'][number]

/** What helped comes before the message, because the end of a line is cut first. */
const failureLine = ({ label, count, command, lastMessage, curedBy }: ReasonSignature): string => {
  const check = command === undefined ? '' : ` in \`${command}\``
  const times = count === 1 ? '' : ` (x${count})`
  const cure = curedBy === undefined ? 'nothing has helped yet' : `what helped: ${curedBy}`
  return `${label}${check}${times}, ${cure}. It said: ${lastMessage}`
}

export const failureLines = (delta: FailureDelta | undefined): string[] => {
  const all = delta?.reasonSignatures ?? []
  const more = all.slice(mostFailures)
  const labels = [...new Set(more.map(({ label }) => label))].join(', ')
  return [
    ...all.slice(0, mostFailures).map(failureLine),
    ...(more.length === 0 ? [] : [`and ${more.length} more (${labels})`]),
  ]
}

/** The keys are those of the task's checks and those that a late failure made important. */
export const briefContext = async (runContext: RunContext): Promise<Pick<BriefInput, 'hostLines' | 'lateFailures'>> => {
  const { context, task } = runContext
  const delta = await failureDelta(context)
  const { snapshot } = await hostContext(context)
  const keys = [...new Set([...keysOfCommands(task.commands), ...(delta?.promotedKeys ?? [])])]
  const [system = '', ...facts] = hostLines(snapshot, keys)
  // What only this run knows comes before facts that the agent could find out itself.
  const ofRun = [...preparedBriefLines(readPrepared(runContext)), ...portLines(runContext.ports)]
  const clean = (line: string): string => context.ports.processes.redactText(line, context.environment)
  return {
    hostLines: [system, ...ofRun, ...facts].map(clean),
    lateFailures: failureLines(delta).map(clean),
  }
}
