/** The real Claude Code and the real Codex against the scripted model server: what the other heavy tests take for granted. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { ScriptInput } from '../../sim/script.ts'
import type { AgentBench, EndedAgent, Running } from './agents.ts'
import { openBench, untilExists } from './agents.ts'

type Steps = ScriptInput['conversations'][number]['steps']

let bench: AgentBench | undefined
afterEach(async () => {
  await bench?.close()
  bench = undefined
})

const open = async (...steps: Steps): Promise<AgentBench> => {
  bench = await openBench([{ name: 'job', match: 'JOB-7', steps }])
  return bench
}
const inRepo = (name: string): string => readFileSync(join(bench!.repo, name), 'utf8')
const played = (): (number | string | undefined)[] =>
  bench!.sim
    .requests()
    .filter(({ kind }) => kind !== 'other' && kind !== 'aside')
    .map(({ step, kind }) => step ?? kind)

const work: Steps = [
  { write: { path: 'notes/hello.txt', content: 'hello\n\nthere\n' } },
  { edit: { path: '{cwd}/README.md', find: 'old words', replace: 'new\nwords' } },
  { write: { path: 'notes/hello.txt', content: 'hello again\n' } },
  { shell: 'ls notes > listing.txt && cat listing.txt' },
  { text: 'All done.' },
]

interface Agent {
  name: string
  first: (prompt: string) => Running
  resume: (prompt: string, session: string) => Running
  sessionOf: (ended: EndedAgent) => string
  finalText: (ended: EndedAgent) => string | undefined
}

const last = (ended: EndedAgent): Record<string, any> => ended.events.at(-1) ?? {}

const agents: Agent[] = [
  {
    name: 'Claude',
    first: (prompt) => bench!.claude([prompt, '--allowedTools', 'Bash']),
    resume: (prompt, session) => bench!.claude([prompt, '--resume', session, '--allowedTools', 'Bash']),
    sessionOf: (ended) => ended.events.find(({ session_id: id }) => id)!.session_id,
    finalText: (ended) =>
      last(ended).type === 'result' && last(ended).is_error === false ? last(ended).result : undefined,
  },
  {
    name: 'Codex',
    first: (prompt) => bench!.codex([prompt]),
    resume: (prompt, session) => bench!.codex([prompt], ['resume', session]),
    sessionOf: (ended) => ended.events.find(({ type }) => type === 'thread.started')!.thread_id,
    finalText: (ended) =>
      last(ended).type === 'turn.completed'
        ? ended.events.findLast(({ item }) => item?.type === 'agent_message')?.item.text
        : undefined,
  },
]

describe.each(agents)('$name', ({ first, resume, sessionOf, finalText }) => {
  test('writes, edits, runs a command and ends with the scripted words', async () => {
    await open(...work)
    const ended = await first('JOB-7: say hello').ended
    expect(ended).toMatchObject({ code: 0, signal: null })
    expect(finalText(ended)).toBe('All done.')
    expect(inRepo('notes/hello.txt')).toBe('hello again\n')
    expect(inRepo('README.md')).toBe('# Sample\n\nnew\nwords here\n')
    expect(inRepo('listing.txt')).toBe('hello.txt\n')
    expect(played()).toEqual([0, 1, 2, 3, 4])
  })

  test('a resumed session goes on at the next step', async () => {
    await open({ text: 'Half way.' }, { write: { path: 'late.txt', content: 'late\n' } }, { text: 'Whole.' })
    const one = await first('JOB-7: begin').ended
    expect(finalText(one)).toBe('Half way.')
    const two = await resume('Go on.', sessionOf(one)).ended
    expect(finalText(two)).toBe('Whole.')
    expect(sessionOf(two)).toBe(sessionOf(one))
    expect(inRepo('late.txt')).toBe('late\n')
    expect(played()).toEqual([0, 1, 2])
  })

  test('a session killed in the middle of a tool call asks for that call again when resumed', async () => {
    await open(
      { write: { path: 'a.txt', content: 'a\n' } },
      { hold: { until: 'go', mark: 'held' } },
      { text: 'Released.' },
    )
    const running = first('JOB-7: hold')
    await untilExists(join(bench!.repo, 'held'))
    running.kill('SIGKILL')
    // The released command ends by itself even where it has outlived its agent.
    writeFileSync(join(bench!.repo, 'go'), '')
    const one = await running.ended
    expect(one.signal).toBe('SIGKILL')
    const two = await resume('Go on.', sessionOf(one)).ended
    expect(finalText(two)).toBe('Released.')
    expect(played()).toEqual([0, 1, 1, 2])
  })

  test('a cut stream is retried by the agent and costs no step', async () => {
    await open({ cut: true }, { write: { path: 'a.txt', content: 'a\n' } }, { text: 'Through.' })
    const ended = await first('JOB-7: cut').ended
    expect(finalText(ended)).toBe('Through.')
    expect(inRepo('a.txt')).toBe('a\n')
    expect(played()).toEqual([0, 1, 2])
  })
})

test('Claude gives up an overloaded server after two retries and goes on when resumed', async () => {
  await open({ error: { status: 529, times: 3 } }, { text: 'Recovered.' })
  const [claude] = agents
  const one = await claude!.first('JOB-7: overloaded').ended
  expect(one.code).toBe(1)
  expect(one.events.filter(({ subtype }) => subtype === 'api_retry').map(({ error }) => error)).toEqual([
    'overloaded',
    'overloaded',
  ])
  expect(last(one)).toMatchObject({ type: 'result', subtype: 'success', is_error: true, api_error_status: null })
  expect(last(one).result).toMatch(/^API Error: Repeated 529 Overloaded errors\./)
  const two = await claude!.resume('Go on.', claude!.sessionOf(one)).ended
  expect(claude!.finalText(two)).toBe('Recovered.')
  expect(played()).toEqual([0, 0, 0, 1])
})

test('a command that outlasts the patience of Codex is polled and is one step', async () => {
  await open({ shell: 'sleep 32; echo slept > slept.txt' }, { text: 'Awake.' })
  const [, codex] = agents
  expect(codex!.finalText(await codex!.first('JOB-7: sleep').ended)).toBe('Awake.')
  expect(inRepo('slept.txt')).toBe('slept\n')
  expect(bench!.sim.requests().map(({ kind }) => kind)).toEqual(['shell', 'aside', 'text'])
})

test('Codex gives up an overloaded server after four silent retries and goes on when resumed', async () => {
  await open({ error: { status: 503, times: 5 } }, { text: 'Recovered.' })
  const [, codex] = agents
  const one = await codex!.first('JOB-7: overloaded').ended
  expect(one.code).toBe(1)
  expect(one.events.map(({ type }) => type)).toEqual(['thread.started', 'turn.started', 'error', 'turn.failed'])
  expect(last(one).error.message).toBe('Selected model is at capacity. Please try a different model.')
  const two = await codex!.resume('Go on.', codex!.sessionOf(one)).ended
  expect(codex!.finalText(two)).toBe('Recovered.')
  expect(played()).toEqual([0, 0, 0, 0, 0, 1])
})

test('a write outside the workspace is denied by both agents and the script goes on', async () => {
  const outside: Steps = [{ write: { path: '{cwd}/../outside.txt', content: 'x\n' } }, { text: 'Tried.' }]
  await open(...outside)
  const claude = await agents[0]!.first('JOB-7: outside').ended
  expect(agents[0]!.finalText(claude)).toBe('Tried.')
  expect(last(claude).permission_denials).toMatchObject([{ tool_name: 'Write' }])
  const codex = await agents[1]!.first('JOB-7: outside').ended
  expect(agents[1]!.finalText(codex)).toBe('Tried.')
  const denied = bench!.sandbox === 'workspace-write' // without namespaces Codex runs unconfined, and then it may
  expect(codex.stderr.includes('patch rejected: writing outside of the project')).toBe(denied)
  expect(existsSync(join(bench!.root, 'outside.txt'))).toBe(!denied)
})
