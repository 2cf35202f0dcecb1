/** The tools of the owner: what the commands `run --detach`, `status` and `explain` do, for an agent that the owner uses by hand. */
import { z } from 'zod'
import type { ExplainView, Goal, StatusView } from '../../api/contract.ts'
import { loadConfig } from '../../config/config.ts'
import { goalFromSentence } from '../../runtime/goal/goal-input.ts'
import { AppError } from '../../errors.ts'
import { connect } from '../engine/connect.ts'
import { homeOf } from '../engine/home.ts'
import { readOnly } from '../engine/read-only.ts'
import type { Io } from '../io.ts'
import { shownAtMost } from '../fold-status.ts'
import { createPaint, statusLines } from '../render.ts'
import { checkFolder, goalRequestOf } from '../run/request.ts'
import { hints, toolSchema, type McpTool } from './tool.ts'
import { defined } from '../../domain/defined.ts'

const longestAnswer = 20_000

const cut = (text: string): string =>
  text.length > longestAnswer
    ? `${text.slice(0, longestAnswer)}\n[${text.length - longestAnswer} characters left out]`
    : text

const plainText = (field: string, most: number) =>
  z
    .string({ error: 'give a text' })
    .max(most, { error: `at most ${most} characters are allowed` })
    .refine((text) => !text.includes('\0') && text.isWellFormed(), { error: 'contains a NUL byte or half a character' })
    .describe(field)

const taskInput = z.strictObject({
  task: plainText('What has to be done, as you would tell a colleague. The first line becomes the title.', 100_000),
  checks: z
    .array(plainText('A command.', 4_000))
    .max(50)
    .optional()
    .describe('Commands that have to pass. Default: those of the repository.'),
  paths: z
    .array(plainText('A path or a glob.', 4_000))
    .max(200)
    .optional()
    .describe('What may be changed. Default: everything.'),
  harness: plainText('Harness that does it. Default: that of the configuration.', 64).optional(),
})

const explainInput = z.strictObject({ id: plainText('Id of a task (t-…), a run (r-…) or a goal (g-…).', 200) })
const nothingInput = z.strictObject({})

/** The arguments in the form of the schema. Throws INPUT_INVALID with the first wrong field. */
const checked = <T extends z.ZodType>(schema: T, given: unknown): z.output<T> => {
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const field = issue === undefined || issue.path.length === 0 ? 'the arguments' : issue.path.join('.')
  throw new AppError('INPUT_INVALID', `${field}: ${issue?.message ?? 'not valid'}`)
}

const addTask = async (io: Io, given: unknown): Promise<string> => {
  const { task, checks, paths, harness } = checked(taskInput, given)
  const plain = goalFromSentence(task)
  const change = {
    ...defined({ commands: checks, allowedPaths: paths }),
  }
  const input = { ...plain, tasks: plain.tasks.map((one) => ({ ...one, ...change })) }
  const home = await homeOf(io)
  const config = loadConfig({ root: home.repository.root, environment: io.environment })
  const options = { allowDir: [], ...defined({ harness }) }
  const request = goalRequestOf(io, { home, input, options, config })
  checkFolder(home, request.options)
  const { client } = await connect(io, { start: true })
  const goal = await client.post<Goal>('/goals', request)
  return `Goal ${goal.id} "${goal.title}" was accepted. The tool status shows how it goes.`
}

const status = (io: Io): Promise<string> =>
  readOnly(io, async ({ client }) =>
    cut(
      statusLines(
        createPaint(false),
        await client.get<StatusView>(`/status?ended=${shownAtMost.ended}&tasks=${shownAtMost.tasks}`),
      ).join('\n'),
    ),
  )

const explain = (io: Io, given: unknown): Promise<string> => {
  const { id } = checked(explainInput, given)
  return readOnly(io, async ({ client }) => {
    const { title, lines } = await client.get<ExplainView>(`/explain/${encodeURIComponent(id)}`)
    return cut([title, ...lines.map(({ at, text }) => `${at} ${text}`)].join('\n'))
  })
}

export const ownerTools = (io: Io): McpTool[] => [
  {
    name: 'add_task',
    description:
      'Gives a task to Unstuck, which has it done by an agent in its own clone of this repository, checks it and keeps it on a branch. Returns at once.',
    inputSchema: toolSchema(taskInput),
    annotations: hints('Add a task', false),
    call: (given) => addTask(io, given),
  },
  {
    name: 'status',
    description: 'Shows goals, tasks with their next step, and the questions that wait for a person.',
    inputSchema: toolSchema(nothingInput),
    annotations: hints('Status', true),
    call: async (given) => {
      checked(nothingInput, given)
      return status(io)
    },
  },
  {
    name: 'explain',
    description: 'Tells the history of one task, run or goal in sentences.',
    inputSchema: toolSchema(explainInput),
    annotations: hints('Explain', true),
    call: (given) => explain(io, given),
  },
]
