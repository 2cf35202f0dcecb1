import { describe, expect, it } from 'vitest'
import { geminiDenial } from './gemini-denials.ts'

const failed = (type: string, message: string) => ({ status: 'error', output: message, error: { type, message } })
const write = { id: 'c1', tool: 'write_file', path: '/repo/asked.txt' }
const shell = { id: 'c1', tool: 'run_shell_command', command: 'make' }

describe("Gemini's refusals of a path", () => {
  it.each([
    [
      'Path not in workspace: Attempted path "/data/x" resolves outside the allowed workspace directories: /repo',
      '/data/x',
    ],
    [
      'Path validation failed: Attempted path "/data/x" resolves outside the allowed workspace directories: /repo',
      '/data/x',
    ],
    ['Search path ("/data") resolves outside the allowed workspace directories: /repo', '/data'],
    ['Path must be within one of the workspace directories: /repo', '/repo/asked.txt'],
    ['File path must be within one of the workspace directories: /repo', '/repo/asked.txt'],
  ])('%s', (text, target) => {
    expect(geminiDenial(write, failed('invalid_tool_params', text))).toMatchObject({ kind: 'scope', target, text })
  })

  it('the folder of a shell command is one, its own words never', () => {
    const text = "Directory '/data' is not within any of the registered workspace directories."
    expect(geminiDenial(shell, failed('invalid_tool_params', text))).toMatchObject({ kind: 'scope', target: '/data' })
    expect(geminiDenial(shell, failed('shell_execute_error', text))).toBeUndefined()
    expect(geminiDenial({ ...write, tool: 'mcp_files' }, failed('mcp_tool_error', text))).toBeUndefined()
  })

  it('a sentence that is not at the start is a quotation', () => {
    const text = 'The file says: Path must be within one of the workspace directories'
    expect(geminiDenial(write, failed('edit_no_occurrence_found', text))).toBeUndefined()
  })
})
