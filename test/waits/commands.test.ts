/** Agents without a driver of their own: what their last words say of the provider, through the whole engine. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { overflowAdvice } from '../../src/recovery/limit.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const command = (program: string): FaultAgent => ({ driver: 'command', program })

/** Says this and fails at its first start, then does the work. */
const once = (name: string, says: string): FaultAgent =>
  command(`if (count('TOP/${name}.starts') === 1) { ${says}; process.exit(1) } put('made.txt', args.join(' '))`)

const agents: Record<string, FaultAgent> = {
  overloaded: once('overloaded', `console.error('Error: 529 {"error":{"type":"overloaded_error"}}')`),
  // As a CLI in its text mode does: on standard output.
  limited: once('limited', `console.log("You've hit your usage limit. Try again in 4s.")`),
  unreachable: once('unreachable', `await fetch('http://127.0.0.1:65534/')`),
  crowded: once(
    'crowded',
    `console.error("openai.BadRequestError: Error code: 400 - {'error': {'code': 'context_length_exceeded'}}")`,
  ),
  keyless: command(`console.error('Invalid API key'); process.exit(1)`),
  modelless: command(`console.error('Error: The model \`m-9\` does not exist'); process.exit(1)`),
  overfull: command(`console.error('prompt is too long: 204800 tokens > 200000 maximum'); process.exit(1)`),
  quoting: once(
    'quoting',
    `console.error('FAIL limit.test.js > says "529 Overloaded"\\n  Error: connect ECONNREFUSED 10.0.0.1:443')`,
  ),
  chatty: command(
    `console.error('Error: 529 Overloaded'); console.log('rate limit exceeded'); put('made.txt', 'made')`,
  ),
}

let scene: Scene
const goals = new Map<string, string>()
beforeAll(async () => {
  scene = await openScene(agents, { maxParallel: 4, retry: { transientBaseSeconds: 1, transientMaxSeconds: 2 } })
  for (const name of Object.keys(agents)) goals.set(name, await scene.goal([{ harness: name }]))
}, 120_000)
afterAll(async () => scene.clear())

const endOf = async (name: string) => {
  const goal = goals.get(name) as string
  const { state } = await scene.until(goal, 'ready', 'awaiting_human', 'paused', 'failed')
  const [recovery] = await scene.recoveries(goal)
  const questions = (await scene.questions()).filter(({ goalId }) => goalId === goal)
  return { goal, state, playbook: recovery?.playbook, label: recovery?.label, status: recovery?.status, questions }
}

describe('a provider that refuses a command', { timeout: 120_000 }, () => {
  test.each([
    ['overloaded', 'transient-backoff', 'provider_overloaded'],
    ['limited', 'quota-wait', 'llm_quota'],
    ['unreachable', 'transient-backoff', 'network_transient'],
    ['crowded', 'fresh-session', 'context_overflow'],
  ])('%s: is waited for, or given less, and nobody is asked', async (name, playbook, label) => {
    expect(await endOf(name)).toMatchObject({ state: 'ready', playbook, label, status: 'success', questions: [] })
  })

  test('is believed about its time', async () => {
    const { goal } = await endOf('limited')
    const [first, second] = await scene.runs(goal)
    const began = new Date(second!.startedAt).getTime()
    expect(began).toBeGreaterThanOrEqual(new Date(first!.endedAt!).getTime() + 4_000)
    expect(first?.errorMeta).toMatchObject({ evidence: "You've hit your usage limit. Try again in 4s." })
  })

  test('for too long a conversation: the next one is told of the work so far', async () => {
    const { goal } = await endOf('crowded')
    expect(scene.show('made.txt', goal)).toContain('grew too long for the model')
  })

  test.each([
    ['keyless', /stopped: harness "keyless" cannot log in at its provider \(/],
    ['modelless', /stopped: the provider of harness "modelless" does not offer its default model \(/],
  ])('%s: is one question that says so', async (name, question) => {
    const { questions } = await endOf(name)
    expect(questions.map((one) => one.question)).toEqual([expect.stringMatching(question)])
  })

  test('for too long a task, also in a fresh session: is one question with the advice of `unstuck exec`', async () => {
    const { goal, questions } = await endOf('overfull')
    const [question, ...more] = questions
    expect([question?.details, more]).toEqual([expect.stringContaining(overflowAdvice), []])
    expect(question?.choices.map(({ id, input }) => [id, input?.name])).toEqual([
      ['retry', 'model'],
      ['hint', 'hint'],
      ['take_over', undefined],
      ['cancel', undefined],
    ])
    expect((await scene.runs(goal)).flatMap(({ launches }) => launches)).toHaveLength(2)
  })
})

describe('words of others', { timeout: 120_000 }, () => {
  test('in a failing run are no refusal', async () => {
    expect(await endOf('quoting')).toMatchObject({ state: 'ready', label: 'unknown', questions: [] })
  })

  test('in a run that ends well are nothing', async () => {
    expect(await endOf('chatty')).toMatchObject({ state: 'ready', playbook: undefined, questions: [] })
  })
})
