/** The tools of one run, for its agent. Each is a request to the engine with the token of the run; the engine decides and writes. */
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { readRegularTextSync } from '../../platform/regular-file.ts'
import type { AgentQuestionView } from '../../api/contract.ts'
import { AppError } from '../../errors.ts'
import { proposalSchema } from '../../recovery/proposal/proposal.ts'
import { createClient, type Client } from '../engine/client.ts'
import { sendTo } from '../engine/send-over-socket.ts'
import { hints, toolSchema, type McpTool } from './tool.ts'

interface RunAccess {
  token: string
  /** engine.json of the engine. It is read for each call, because a restarted engine may have another port. */
  engineFile: string
}

/** An engine that does not respond must not hold up the agent. */
const requestMs = 15_000
const pollMs = 500

const addressIn = (path: string): string => {
  try {
    return (JSON.parse(readRegularTextSync(path)) as { url: string }).url
  } catch {
    throw new AppError('ENGINE_UNAVAILABLE', 'no engine is running at the moment; go on without this tool')
  }
}

const runIn = (token: string): string => token.split('.')[1] ?? ''

const clientOf = ({ token, engineFile }: RunAccess): Client =>
  createClient(addressIn(engineFile), token, (url, init) =>
    sendTo(undefined)(url, { ...init, signal: AbortSignal.timeout(requestMs) }),
  )

const progressInput = z.strictObject({
  text: z.string().max(500).describe('One sentence: what is done, and what you do next.'),
})

const questionInput = z.strictObject({
  question: z
    .string()
    .max(2000)
    .describe('The decision that you need, with the choices you see and what you would do.'),
})

const answerText = ({ state, answer }: AgentQuestionView): string => {
  if (state === 'answered') return `A person answered: ${answer ?? ''}`
  return state === 'closed'
    ? 'This question was closed without an answer. Decide yourself and continue.'
    : 'No answer yet. End your turn now and leave your work as it is; you will be restarted with the answer.'
}

const waitForAnswer = async (access: RunAccess, asked: AgentQuestionView, signal: AbortSignal): Promise<string> => {
  const until = performance.now() + asked.waitSeconds * 1000
  let seen = asked
  while (seen.state === 'open' && performance.now() < until && !signal.aborted) {
    await delay(pollMs)
    try {
      seen = await clientOf(access).get<AgentQuestionView>(`/runs/${runIn(access.token)}/question`)
    } catch (error) {
      // The engine may be restarting; the question is stored.
      if (!(error instanceof AppError && error.code === 'ENGINE_UNAVAILABLE')) throw error
    }
  }
  return answerText(seen)
}

export const runTools = (access: RunAccess): McpTool[] => {
  const path = (tool: string): string => `/runs/${runIn(access.token)}/${tool}`
  const post = <T>(tool: string, body: unknown): Promise<T> => clientOf(access).post<T>(path(tool), body)
  return [
    {
      name: 'propose_recovery',
      description:
        'Proposes a command that repairs the environment when the tests cannot run: dependencies, caches, settings. Not for failing assertions or bugs in the code. The command is not run now: it is checked against the rules of the owner after your turn.',
      inputSchema: toolSchema(proposalSchema.partial({ version: true, timestamp: true })),
      annotations: hints('Propose a recovery', false),
      call: async (given) => {
        const filled = { version: 1, timestamp: new Date().toISOString(), ...given }
        const { command } = await post<{ command: string }>('proposal', filled)
        return `Accepted, and not run yet: ${command}\nThe owner's rules decide about it after your turn. End your turn when nothing else is left to do.`
      },
    },
    {
      name: 'report_progress',
      description:
        'Tells the person who follows this task what you have done and what you do next. Use it a few times in a long task.',
      inputSchema: toolSchema(progressInput),
      annotations: hints('Report progress', false),
      call: async (given) => `Recorded: ${(await post<{ recorded: string }>('progress', given)).recorded}`,
    },
    {
      name: 'ask_person',
      description:
        'Asks a person for a decision, once in this run. Use it only where the task cannot be done without the decision and no choice is reasonable; a person may need hours.',
      inputSchema: toolSchema(questionInput),
      annotations: hints('Ask a person', false),
      call: async (given, signal) => waitForAnswer(access, await post<AgentQuestionView>('question', given), signal),
    },
  ]
}
