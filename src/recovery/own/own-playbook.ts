/**
 * A playbook that the owner of a repository wrote: one JSON file in `.unstuck/playbooks/`. Its actions are a closed set of what the
 * built-in playbooks can do, and its patterns are matched with RE2, which takes linear time. Pure.
 */
import { RE2JS } from 're2js'
import { z } from 'zod'
import { explainIssue, parseJson, prototypeKeyIn } from '../../validation.ts'
import { longestTimeoutSeconds, whyNoCommand } from '../proposal/command-text.ts'

const longestPattern = 1000
const longestText = 2000

const object = { error: 'allowed: an object' }

const patternError = `allowed: a regular expression of RE2, at most ${longestPattern} characters`

const pattern = z
  .string({ error: patternError })
  .min(1, { error: patternError })
  .max(longestPattern, { error: patternError })
  .superRefine((text, context) => {
    try {
      RE2JS.compile(text, RE2JS.MULTILINE)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      const message = `it is no regular expression of RE2 (${why.slice(0, 200)}); ${patternError}`
      context.addIssue({ code: 'custom', message })
    }
  })

const textOf = (what: string, longest = longestText) => {
  const error = `allowed: ${what}, at most ${longest} characters`
  return z
    .string({ error })
    .max(longest, { error })
    .refine((text) => text.trim() !== '' && !text.includes('\0'), { error })
}

const wholeNumber = (least: number, most: number) => {
  const error = `allowed: a whole number from ${least} to ${most}`
  return z.int({ error }).min(least, { error }).max(most, { error })
}

const closed = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, { error: `allowed: ${values.map((value) => `"${value}"`).join(', ')}` })

const command = textOf('a shell command in one line').superRefine((text, context) => {
  const problem = whyNoCommand(text)
  if (problem !== undefined)
    context.addIssue({ code: 'custom', message: `${problem}; allowed: a shell command in one line` })
})

const folderError = 'allowed: a folder inside the repository, relative to its top'

const folder = z
  .string({ error: folderError })
  .max(1024, { error: folderError })
  .refine((text) => text !== '' && !/\p{Cc}/u.test(text) && !/^[/~]/.test(text) && !text.split('/').includes('..'), {
    error: folderError,
  })

const choiceSchema = z.strictObject(
  {
    label: textOf('the text of a button', 80),
    answer: closed(['retry', 'hint']).meta({
      description: 'What it does: the task is retried, with or without a hint.',
    }),
    hint: textOf('what the agent is told').exactOptional().meta({ description: 'Only of "hint", which needs it.' }),
  },
  object,
)

const actions = {
  wait: z.strictObject({
    type: z.literal('wait'),
    seconds: wholeNumber(1, 24 * 3600).meta({ description: 'How long the task waits before its check runs again.' }),
  }),
  run: z.strictObject({
    type: z.literal('run'),
    command: command.meta({
      description: 'It runs without a question only if recovery.auto_approve lists it, byte by byte.',
    }),
    workingDir: folder.exactOptional(),
    timeoutSeconds: wholeNumber(1, longestTimeoutSeconds).exactOptional(),
  }),
  hint: z.strictObject({ type: z.literal('hint'), text: textOf('what the agent is told') }),
  ask: z.strictObject({
    type: z.literal('ask'),
    question: textOf('a question', 500),
    choices: z
      .array(choiceSchema, { error: 'allowed: a list of choices' })
      .max(5, { error: 'allowed: at most 5 choices' })
      .exactOptional()
      .meta({ description: 'Offered before the usual ones. Without them: retry, with or without a hint, and cancel.' }),
  }),
  switch_harness: z.strictObject({
    type: z.literal('switch_harness'),
    harness: textOf('the name of a harness', 100)
      .exactOptional()
      .meta({ description: 'Without it the next one of harness.failover.' }),
  }),
  blame_environment: z.strictObject({ type: z.literal('blame_environment') }),
}

export const ownActions = ['wait', 'run', 'hint', 'ask', 'switch_harness', 'blame_environment'] as const
type OwnActionType = (typeof ownActions)[number]

/** What has to be observed, by failure and action; the first one is the default. */
const conditions: Record<'check' | 'agent', Partial<Record<OwnActionType, readonly string[]>>> = {
  check: {
    wait: ['check_passes'],
    run: ['check_passes', 'check_runs'],
    hint: ['fewer_failures'],
    switch_harness: ['fewer_failures'],
  },
  agent: { wait: ['agent_ends'], hint: ['agent_ends'], switch_harness: ['agent_ends'] },
}

const mostAttempts = 20
const defaultBudget: Partial<Record<OwnActionType, number>> = { wait: 3 }

const shape = {
  $schema: z.string().exactOptional(),
  title: textOf('a text', 200).meta({ description: 'What it is for; people read it.' }),
  match: z
    .strictObject(
      {
        failure: closed(['check', 'agent'])
          .default('check')
          .meta({ description: 'A check that fails, or the CLI of an agent that reports an error.' }),
        command: pattern.exactOptional().meta({ description: 'RE2 pattern that the failed check itself matches.' }),
        harness: textOf('the name of a harness', 100).exactOptional(),
        exitCode: z
          .union([wholeNumber(0, 255), z.array(wholeNumber(0, 255)).min(1).max(20)], {
            error: 'allowed: an exit status from 0 to 255, or a list of them',
          })
          .exactOptional(),
      },
      object,
    )
    .prefault({}),
  evidence: z.strictObject(
    {
      pattern: pattern.meta({ description: 'RE2 pattern that what was printed matches; ^ and $ are ends of lines.' }),
      stream: closed(['any', 'stdout', 'stderr']).default('any'),
    },
    object,
  ),
  action: z.discriminatedUnion(
    'type',
    [actions.wait, actions.run, actions.hint, actions.ask, actions.switch_harness, actions.blame_environment],
    { error: `allowed: an object with a "type" of ${ownActions.map((name) => `"${name}"`).join(', ')}` },
  ),
  postCondition: closed(['check_passes', 'check_runs', 'fewer_failures', 'agent_ends'])
    .exactOptional()
    .meta({ description: 'What has to be observed before it counts as a recovery.' }),
  budget: wholeNumber(1, mostAttempts)
    .exactOptional()
    .meta({ description: 'Most attempts for one task. Default: 3 for wait, else 1.' }),
  then: closed(['built_in', 'ask'])
    .default('built_in')
    .meta({ description: 'When the budget is used up: the built-in playbooks go on, or a person is asked.' }),
}

const problemOf = ({
  match,
  evidence,
  action,
  postCondition,
  budget,
}: z.output<z.ZodObject<typeof shape>>): { path: string[]; message: string } | undefined => {
  if (match.failure === 'agent') {
    if (match.command !== undefined)
      return { path: ['match', 'command'], message: 'only a failed check has a command; remove it' }
    if (match.exitCode !== undefined)
      return { path: ['match', 'exitCode'], message: 'only a failed check has an exit status; remove it' }
    if (evidence.stream !== 'any')
      return { path: ['evidence', 'stream'], message: 'only a failed check has two streams; remove it' }
    if (action.type === 'run')
      return { path: ['action', 'type'], message: 'a command runs only before a failed check is repeated' }
  }
  const allowed = conditions[match.failure][action.type] ?? []
  if (postCondition !== undefined && !allowed.includes(postCondition))
    return {
      path: ['postCondition'],
      message:
        allowed.length === 0
          ? `the action "${action.type}" has none; remove it`
          : `allowed with the action "${action.type}": ${allowed.map((each) => `"${each}"`).join(', ')}`,
    }
  if (budget !== undefined && allowed.length === 0)
    return { path: ['budget'], message: `the action "${action.type}" has none; remove it` }
  if (action.type !== 'ask') return undefined
  const wrong = (action.choices ?? []).findIndex(({ answer, hint }) => (answer === 'hint') !== (hint !== undefined))
  return wrong < 0
    ? undefined
    : { path: ['action', 'choices'], message: 'a choice has a hint if its answer is "hint", and only then' }
}

const schema = z.strictObject(shape).superRefine((value, context) => {
  const problem = problemOf(value)
  if (problem !== undefined) context.addIssue({ code: 'custom', ...problem })
})

export type OwnPlaybook = z.output<typeof schema>
export type OwnAction = OwnPlaybook['action']
export type OwnChoice = NonNullable<Extract<OwnAction, { type: 'ask' }>['choices']>[number]

/** By name, which is that of the file without its ending. */
export type OwnPlaybooks = Readonly<Record<string, OwnPlaybook>>

/** The owner's playbooks with what they depend on. */
export interface OwnSettings {
  playbooks: OwnPlaybooks
  /** Whether commands may be proposed at all (`recovery.enabled`). */
  mayPropose: boolean
  /** Whether a task may be given to this harness. */
  canUse: (harness: string) => boolean
}

/** What the owner's playbook has a person asked. */
export interface OwnQuestion {
  name: string
  text: string
  choices: readonly OwnChoice[]
}

/** In the order of choice. */
export const byName = (own: OwnPlaybooks): [name: string, playbook: OwnPlaybook][] =>
  Object.entries(own).toSorted(([a], [b]) => (a < b ? -1 : 1))

/** Under this id it is recorded, and `playbooks.disabled` can name it. */
export const ownId = (name: string): string => `own:${name}`

export const budgetOf = ({ action, budget }: OwnPlaybook): number => budget ?? defaultBudget[action.type] ?? 1

export const postConditionOf = ({ match, action, postCondition }: OwnPlaybook): string | undefined =>
  postCondition ?? conditions[match.failure][action.type]?.[0]

const keysAt =
  (value: unknown) =>
  (path: readonly PropertyKey[]): string[] => {
    if (path[0] === 'match') return ['failure', 'command', 'harness', 'exitCode']
    if (path[0] === 'evidence') return ['pattern', 'stream']
    if (path[0] !== 'action') return Object.keys(shape).filter((key) => key !== '$schema')
    if (path.length > 1) return Object.keys(choiceSchema.shape)
    const type = (value as { action: { type: OwnActionType } }).action.type
    return Object.keys(actions[type].shape)
  }

type ReadPlaybook = { ok: true; playbook: OwnPlaybook } | { ok: false; problem: string }

/** Never throws. The problem names the key, its value and what is allowed. */
export const readOwnPlaybook = (text: string): ReadPlaybook => {
  const json = parseJson(text)
  if (!json.ok) return { ok: false, problem: `it is not JSON (${json.problem})` }
  const key = prototypeKeyIn(json.value)
  if (key !== undefined) return { ok: false, problem: `the key ${key} is a name that every object has; remove it` }
  const result = schema.safeParse(json.value)
  return result.success
    ? { ok: true, playbook: result.data }
    : { ok: false, problem: explainIssue(result.error, json.value, keysAt(json.value)) }
}

/** The JSON Schema that is published; `scripts/generate.ts` writes it to schema/playbook.schema.json. */
export const ownPlaybookJsonSchema = (): Record<string, unknown> => ({
  ...(z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'input' }) as Record<string, unknown>),
  title: 'Playbook of a repository (.unstuck/playbooks/<name>.json)',
})
