import { describe, expect, it } from 'vitest'
import { claudeDenial, claudeListedDenial } from './claude-denials.ts'

const sentence = "Claude requested permissions to write to /outside/a b.txt, but you haven't granted it yet."
const write = { id: 'c1', tool: 'Write', path: '/outside/a b.txt' }

describe("Claude's refusals", () => {
  it('the path of the structured input wins over the one in the sentence', () => {
    const denial = claudeDenial({ ...write, path: '/outside/other.txt' }, sentence, '/repo')
    expect(denial).toMatchObject({ kind: 'scope', target: '/outside/other.txt', callId: 'c1' })
    expect(claudeDenial({ id: 'c1', tool: 'Write' }, sentence, '/repo')).toMatchObject({ target: '/outside/a b.txt' })
  })

  it.each([
    ['/repo', '/repo/a', 'tool'],
    ['/repo', '/repo', 'tool'],
    ['/repo', 'sub/a', 'tool'],
    ['/repo', '/repo/..a', 'tool'],
    ['/repo', '/repository/a', 'scope'],
    ['/repo', '/repo/../etc/a', 'scope'],
    ['/repo', '../a', 'scope'],
  ])('in %s, %s is a matter of %s', (cwd, path, kind) => {
    expect(claudeDenial({ ...write, path }, sentence, cwd)?.kind).toBe(kind)
  })

  it('a tool whose text is not the CLI’s cannot refuse in its name', () => {
    for (const tool of ['mcp__files__write', 'WebFetch', 'Task'])
      expect(claudeDenial({ id: 'c1', tool }, sentence, '/repo')).toBeUndefined()
    expect(claudeDenial(undefined, sentence, '/repo')).toBeUndefined()
  })

  it('a sentence that is not at the start is a quotation', () => {
    expect(claudeDenial({ id: 'c1', tool: 'Bash' }, `Exit code 1\n${sentence}`, '/repo')).toBeUndefined()
  })

  it('a shell command’s own permission error is its output', () => {
    expect(claudeDenial({ id: 'c1', tool: 'Bash' }, "EACCES: permission denied, open '/x'", '/repo')).toBeUndefined()
  })

  it('a shell command that needs approval is a matter of the mode, although the sentence names a path', () => {
    const tail =
      "needs approval. The path is inside the working directories for this session ('/repo'), and Claude Code asks before a shell command creates, changes or removes files there."
    const call = { id: 'c1', tool: 'Bash', command: 'npm run build > out.txt' }
    expect(claudeDenial(call, `Output redirection to '/repo/out.txt' ${tail}`, '/repo')).toMatchObject({
      ...{ kind: 'tool', target: 'npm run build > out.txt' },
      text: `Output redirection to '/repo/out.txt' ${tail}`,
    })
    for (const quoted of [`Exit code 1\nrm '/repo/x' ${tail}`, 'The release needs approval. Ask the owner.'])
      expect(claudeDenial(call, quoted, '/repo')).toBeUndefined()
  })

  it('a tool that the command line took away was refused; one that does not exist was not', () => {
    const said = (tool: string, more: string) =>
      `<tool_use_error>Error: No such tool available: ${tool}${more}</tool_use_error>`
    const taken = said('Write', '. Write exists but is not enabled in this context. Use one of: Read.')
    expect(claudeDenial(write, taken, '/repo')).toMatchObject({ kind: 'tool', tool: 'Write' })
    expect(claudeDenial(write, taken, '/repo')).not.toHaveProperty('target')
    expect(claudeDenial(write, said('NoSuchTool', ''), '/repo')).toBeUndefined()
  })

  it('a blocked access is one of scope where its path lies outside, and a network policy’s is none', () => {
    expect(claudeDenial(write, 'Access blocked: /outside/a b.txt', '/repo')?.kind).toBe('scope')
    expect(claudeDenial(write, 'Access blocked by network policy', '/repo')).toBeUndefined()
  })

  it('its text is the sentence, without what stands below it', () => {
    expect(claudeDenial(write, `${sentence}\nmore`, '/repo')?.text).toBe(sentence)
  })

  it('what the CLI stopped as dangerous is marked as never to be corrected', () => {
    const text = "Dangerous rm operation detected: '/repo'"
    expect(claudeDenial({ id: 'c1', tool: 'Bash', command: 'rm -rf /repo' }, text, '/repo')?.kind).toBe('safety')
  })

  it('the final list catches a refusal in words of a newer version', () => {
    const entry = { tool_name: 'Edit', tool_use_id: 'c9', tool_input: { file_path: '/outside/x' } }
    expect(claudeListedDenial(entry, '/repo')).toMatchObject({
      kind: 'scope',
      tool: 'Edit',
      target: '/outside/x',
      callId: 'c9',
    })
    const shell = { tool_name: 'Bash', tool_use_id: 'c8', tool_input: { command: 'make' } }
    expect(claudeListedDenial(shell, '/repo')).toMatchObject({ kind: 'tool', target: 'make' })
    expect(claudeListedDenial({ tool_name: 'Bash' }, '/repo')).toBeUndefined()
  })
})
