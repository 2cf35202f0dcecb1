/**
 * The JSON lines that the real CLIs print, for agents that imitate them: Claude Code's stream-json and Codex's
 * `exec --json`. Limited to the fields that readers of these lines use.
 */
import { randomUUID } from 'node:crypto'

type Json = Record<string, unknown>

export const printJsonLine = (line: Json): void => void process.stdout.write(`${JSON.stringify(line)}\n`)

const noUsage = { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
const someUsage = { ...noUsage, input_tokens: 1200, output_tokens: 42 }

export interface Denied {
  tool_name: string
  tool_use_id: string
  tool_input: Json
}

const message = (content: Json[]): Json => ({
  message: {
    id: `msg_${randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-sim',
    content,
    stop_reason: null,
    usage: someUsage,
  },
  parent_tool_use_id: null,
})

const init = (cwd: string): Json => ({
  subtype: 'init',
  cwd,
  tools: ['Bash', 'Edit', 'Read', 'Write'],
  model: 'claude-sim',
  permissionMode: 'acceptEdits',
})

const ending = (result: string, fields: Json): Json => ({
  subtype: 'success',
  num_turns: 1,
  result,
  total_cost_usd: 0,
  terminal_reason: 'completed',
  ...fields,
})

const answer = (id: string, content: string, isError: boolean): Json => ({
  message: {
    role: 'user',
    content: [{ type: 'tool_result', content, tool_use_id: id, ...(isError ? { is_error: true } : {}) }],
  },
  parent_tool_use_id: null,
})

const retry = (attempt: number, status: number): Json => ({
  subtype: 'api_retry',
  attempt,
  max_retries: 2,
  retry_delay_ms: 50,
  error_status: status,
  error: 'server_error',
})

const refused = { is_error: true, stop_reason: 'stop_sequence', usage: noUsage, permission_denials: [] }
const completed = { is_error: false, api_error_status: null, stop_reason: 'end_turn', usage: someUsage }

/** One session of Claude Code. */
export const claudeSession = (sessionId: string, cwd: string) => {
  const event = (type: string, fields: Json): void =>
    printJsonLine({ type, ...fields, session_id: sessionId, uuid: randomUUID() })
  return {
    init: () => event('system', init(cwd)),
    say: (text: string) => event('assistant', message([{ type: 'text', text }])),
    /** Announces a write, and returns the id of the call. */
    write: (path: string, content: string): string => {
      const id = `toolu_${randomUUID()}`
      event('assistant', message([{ type: 'tool_use', id, name: 'Write', input: { file_path: path, content } }]))
      return id
    },
    answered: (id: string, content: string, isError = false) => event('user', answer(id, content, isError)),
    retrying: (attempt: number, status: number) => event('system', retry(attempt, status)),
    refusedByServer: (text: string, status: number, error = 'server_error') => {
      event('assistant', { ...message([{ type: 'text', text }]), error })
      event('result', ending(text, { ...refused, api_error_status: status }))
    },
    done: (text: string, denials: Denied[] = []) =>
      event('result', ending(text, { ...completed, permission_denials: denials })),
  }
}

/** One turn of Codex that changes files. */
export const codexTurn = (changed: { path: string; kind: 'add' | 'update' }[], text: string): void => {
  printJsonLine({ type: 'thread.started', thread_id: randomUUID() })
  printJsonLine({ type: 'turn.started' })
  printJsonLine({
    type: 'item.completed',
    item: { id: 'item_0', type: 'file_change', changes: changed, status: 'completed' },
  })
  printJsonLine({ type: 'item.completed', item: { id: 'item_1', type: 'agent_message', text } })
  printJsonLine({ type: 'turn.completed', usage: { input_tokens: 2400, cached_input_tokens: 0, output_tokens: 84 } })
}
