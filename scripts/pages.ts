/** The generated pages of docs/: the tables of the code as Markdown. Pure, so that a test can compare them. */
import { describeConfig } from '../src/config/config.ts'
import { agentDerivation, agentStates, type DerivedState } from '../src/domain/agent.ts'
import type { Flow } from '../src/domain/flow.ts'
import { flows } from '../src/domain/flows.ts'
import { errorTable, exitCodes } from '../src/errors.ts'
import { eventTypes } from '../src/runtime/people/event-sentences.ts'
import { code, generatedPage, grouped, item, plain, table, wrap } from './markdown.ts'

const titleOf = (entity: string): string => `## ${entity.slice(0, 1).toUpperCase()}${entity.slice(1)}`

const flowSection = (flow: Flow): string => {
  const reached = new Set(flow.rows.map((row) => row.to))
  const idle = flow.states.filter((state) => !reached.has(state))
  const ends = flow.terminal.length === 0 ? 'It has no end state.' : `It ends in ${flow.terminal.map(code).join(', ')}.`
  const unused = idle.length === 0 ? '' : ` No transition leads to ${idle.map(code).join(', ')} yet.`
  const rows = flow.rows.map((row) => [code(row.from), code(row.to), code(row.trigger), row.owner, code(row.event)])
  return [
    titleOf(flow.entity),
    wrap(`States: ${flow.states.map(code).join(', ')}. ${ends}${unused}`),
    table(['from', 'to', 'trigger', 'owner', 'event'], rows),
  ].join('\n\n')
}

const derivedSection = (entity: string, states: readonly string[], rows: readonly DerivedState[]): string =>
  [
    titleOf(entity),
    wrap(
      `States: ${states.map(code).join(', ')}. They are derived when read and never stored, so no transition writes them. The first row that applies counts.`,
    ),
    table(
      ['state', 'when', 'events that show it'],
      rows.map((row) => [code(row.state), row.when, row.events.map(code).join(', ')]),
    ),
  ].join('\n\n')

export const statesPage = (): string =>
  generatedPage(
    'States',
    [
      wrap(
        'All transitions of all entities, from the flow tables in `src/domain/`. Every other transition is an error. An empty "from" means that the row creates the entity. An agent has no transitions: its state follows from its lease, its slot and its engine.',
      ),
      ...flows.map(flowSection),
      derivedSection('agent', agentStates, agentDerivation),
    ].join('\n\n'),
  )

type ConfigKey = ReturnType<typeof describeConfig>[number]

/** The section of a key; keys of their own and settings without a key have one together. */
const groupOfKey = ({ key }: ConfigKey): string => {
  const [section = '', ...rest] = key.split('.')
  if (key === '') return 'without a key'
  return rest.length === 0 ? 'general' : section
}

const keyItem = (row: ConfigKey): string => {
  const notes = [
    row.default === '' ? '' : `default ${code(row.default)}`,
    row.environment === '' || row.key === '' ? '' : `variable ${code(row.environment)}`,
  ].filter((note) => note !== '')
  const name = code(row.key === '' ? row.environment : row.key)
  return item(`${name}${notes.length === 0 ? '' : ` (${notes.join('; ')})`}: ${plain(row.meaning)}`)
}

export const configPage = (): string =>
  generatedPage(
    'Configuration',
    [
      wrap(
        'The keys of `.unstuck/config.json`, from `src/config/config-schema.ts`. The environment overrides the file, and the command line overrides both. An unknown key or a value that is not allowed is an error that names the key and what to write instead.',
      ),
      ...grouped(describeConfig(), groupOfKey, keyItem),
    ].join('\n\n'),
  )

const exitMeanings: Record<keyof typeof exitCodes, string> = {
  ok: 'done',
  failed: 'the command or the goal failed',
  usage: 'the command line or its input is wrong',
  needsPerson: 'a question waits for a person',
  notFound: 'the named goal, task, run or snapshot does not exist',
  conflict: 'not possible in the current state',
  unavailable: 'the engine cannot be reached, or refuses the request',
  waiting: 'the work waits for a limit or a retry',
  config: 'the configuration or the installation is wrong',
}

export const errorsPage = (): string =>
  generatedPage(
    'Errors',
    [
      wrap(
        'From `src/errors.ts`. The API responds with the HTTP status and `{"error": {"code", "message"}}`, and the CLI exits with the exit code. The message names what is wrong and what to do next.',
      ),
      table(
        ['code', 'HTTP', 'exit', 'meaning'],
        Object.entries(errorTable).map(([name, row]) => [code(name), String(row.status), String(row.exit), row.title]),
      ),
      '## Exit codes',
      table(
        ['exit', 'name', 'meaning'],
        Object.entries(exitCodes).map(([name, number]) => [
          String(number),
          code(name),
          exitMeanings[name as keyof typeof exitCodes],
        ]),
      ),
    ].join('\n\n'),
  )

const eventItem = ([type, { meaning }]: [string, { meaning: string }]): string =>
  item(`${code(type)}: ${plain(meaning)}`)

export const eventsPage = (): string =>
  generatedPage(
    'Events',
    [
      wrap(
        'Every type of event, from `src/runtime/people/event-sentences.ts`. An event is written in the same transaction as the change that it reports. `GET /events` streams events in order, and `unstuck explain` shows them as sentences.',
      ),
      ...grouped(Object.entries(eventTypes), ([type]) => type.split(/[._]/)[0] ?? '', eventItem),
    ].join('\n\n'),
  )
