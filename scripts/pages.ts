/** The generated pages of docs/: the tables of the code as Markdown. Pure, so that a test can compare them. */
import { describeConfig } from '../src/config.ts'
import { agentDerivation, agentStates, type DerivedState } from '../src/domain/agent.ts'
import type { Flow } from '../src/domain/flow.ts'
import { flows } from '../src/domain/flows.ts'
import { errorTable, exitCodes } from '../src/errors.ts'
import type { Diagnosis } from '../src/recovery/types.ts'
import { launchRules } from '../src/recovery/diagnosis/launch-failure.ts'
import { managers } from '../src/recovery/install.ts'
import { limitRules } from '../src/recovery/limit.ts'
import { nextStep, playbooks, totalBudget } from '../src/recovery/ladder.ts'
import { probes } from '../src/recovery/probe.ts'
import type { Action, Playbook, PostCondition } from '../src/recovery/playbook.ts'
import { eventTypes } from '../src/runtime/people/event-sentences.ts'
import { code, generatedPage, table } from './markdown.ts'

const titleOf = (entity: string): string => `## ${entity.slice(0, 1).toUpperCase()}${entity.slice(1)}`

const flowSection = (flow: Flow): string => {
  const reached = new Set(flow.rows.map((row) => row.to))
  const idle = flow.states.filter((state) => !reached.has(state))
  const ends = flow.terminal.length === 0 ? 'It has no end state.' : `It ends in ${flow.terminal.map(code).join(', ')}.`
  const unused = idle.length === 0 ? '' : ` No transition leads to ${idle.map(code).join(', ')} yet.`
  const rows = flow.rows.map((row) => [code(row.from), code(row.to), code(row.trigger), row.owner, code(row.event)])
  return [
    titleOf(flow.entity),
    `States: ${flow.states.map(code).join(', ')}. ${ends}${unused}`,
    table(['from', 'to', 'trigger', 'owner', 'event'], rows),
  ].join('\n\n')
}

const derivedSection = (entity: string, states: readonly string[], rows: readonly DerivedState[]): string =>
  [
    titleOf(entity),
    `States: ${states.map(code).join(', ')}. They are derived when read and never stored, so no transition writes them. The first row that applies counts.`,
    table(
      ['state', 'when', 'events that show it'],
      rows.map((row) => [code(row.state), row.when, row.events.map(code).join(', ')]),
    ),
  ].join('\n\n')

export const statesPage = (): string =>
  generatedPage(
    'States',
    [
      'All transitions of all entities, from the flow tables in `src/domain/`. Every other transition is an error. An empty "from" means that the row creates the entity. An agent has no transitions: its state follows from its lease, its slot and its engine.',
      ...flows.map(flowSection),
      derivedSection('agent', agentStates, agentDerivation),
    ].join('\n\n'),
  )

export const configPage = (): string =>
  generatedPage(
    'Configuration',
    [
      'The keys of `.unstuck/config.json`, from `src/config-schema.ts`. The environment overrides the file, and the command line overrides both. An unknown key or a value that is not allowed is an error that names the key and what to write instead.',
      table(
        ['key', 'default', 'environment', 'meaning'],
        describeConfig().map((row) => [code(row.key), code(row.default), code(row.environment), row.meaning]),
      ),
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
      'From `src/errors.ts`. The API responds with the HTTP status and `{"error": {"code", "message"}}`, and the CLI exits with the exit code. The message names what is wrong and what to do next.',
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

export const eventsPage = (): string =>
  generatedPage(
    'Events',
    [
      'Every type of event, from `src/runtime/people/event-sentences.ts`. An event is written in the same transaction as the change that it reports. `GET /events` streams events in order, and `unstuck explain` shows them as sentences.',
      table(
        ['type', 'meaning'],
        Object.entries(eventTypes).map(([type, { meaning }]) => [code(type), meaning]),
      ),
    ].join('\n\n'),
  )

/** A sample failure, so that the page can show the shape of the action. */
const sample = ({ rung, labels: [label], example: facts = {} }: Playbook): Diagnosis =>
  ({
    ...{ rung, label, facts },
    ...{ failureCode: '', category: 'env', retryable: true, evidence: '', signature: '' },
  }) as Diagnosis

const noRetry = {
  transientBaseSeconds: 1,
  transientMaxSeconds: 1,
  transientLimit: 1,
  quotaBaseSeconds: 1,
  quotaMaxSeconds: 1,
}

/** Numbers and objects depend on the case and the configuration, so only their names are shown. */
const fieldsOf = (value: Action | PostCondition): string =>
  Object.entries(value)
    .filter(([key, entry]) => key !== 'name' && key !== 'type' && key !== 'hint' && entry !== '')
    .map(([key, entry]) => (typeof entry === 'number' || typeof entry === 'object' ? key : `${key} ${String(entry)}`))
    .join(', ')

const withFields = (name: string, value: Action | PostCondition): string => {
  const fields = fieldsOf(value)
  return fields === '' ? code(name) : `${code(name)} (${fields.replaceAll(/<([^>]+)>/g, 'the $1')})`
}

const playbookRow = (playbook: Playbook): string[] => {
  const diagnosis = sample(playbook)
  const action = playbook.plan(diagnosis, { attempts: 0, taskId: '', retry: noRetry })
  if (action === undefined)
    throw new Error(`playbook ${playbook.id} plans no action for its own label; give its record an example`)
  const condition = playbook.postCondition(action)
  const none = nextStep(diagnosis, [], { playbooks: [], disabled: [], retry: noRetry }, { id: '', runId: '' })
  return [
    code(playbook.id),
    String(playbook.rung),
    playbook.scope,
    playbook.labels.map(code).join(', '),
    playbook.neededEvidence,
    withFields(action.name, action),
    withFields(condition.type, condition),
    `${playbook.budget}${playbook.counted ? '' : ', not counted towards the total'}`,
    none.kind === 'exhausted' ? code(none.then) : '',
  ]
}

/** The provider's rules; the columns are in the order in which the parts of a rule are matched. */
const limitRows = (): string[][] =>
  limitRules.map((rule) => [
    rule.id,
    rule.kind,
    (rule.types ?? []).map(code).join(', ') +
      (rule.textPattern === undefined ? '' : ` with text ${code(rule.textPattern.source)}`),
    (rule.codes ?? []).map(code).join(', '),
    rule.sentencePatterns === undefined ? '' : `${rule.sentencePatterns.length} in src/recovery/limit.ts`,
    (rule.statuses ?? []).join(', '),
    code(rule.meaning.label),
    code(rule.meaning.failureCode),
    rule.meaning.retryable ? 'yes' : 'no',
  ])

const ruleRows = (): string[][] =>
  launchRules.map((rule) => [
    rule.id,
    rule.harness ?? 'any',
    [...(rule.types ?? []), ...(rule.text === undefined ? [] : [rule.text.source])].map(code).join(', '),
    String(rule.meaning.rung),
    code(rule.meaning.label),
    code(rule.meaning.failureCode),
    rule.meaning.retryable ? 'yes' : 'no',
  ])

const probeRow = ({ id, labels, inspects, concludes }: (typeof probes)[number]): string[] => [
  code(id),
  labels.map(code).join(', '),
  inspects,
  concludes,
]
const managerRows = (): string[][] =>
  managers.map(({ id, files, holds, commands, ran }) => [
    code(id),
    files.map(code).join(', ') + (holds === undefined ? '' : ` that contains ${code(holds.source)}`),
    commands.map((argv) => code(argv.join(' '))).join(', then '),
    ran ?? 'not tested with a real manager',
  ])

export const recoveryPage = (): string =>
  generatedPage(
    'Recovery',
    [
      `How Unstuck recovers without a person, from \`src/recovery/\`. A failure is diagnosed, which gives it a label. A playbook handles the failures with its labels, if the needed evidence is there; of several playbooks for one label, the first in this table applies. It performs the action, and the recovery counts as a success only when the post-condition has been observed. The budget is the number of attempts per task and label. In addition, a task has a total of ${totalBudget} recoveries, and after \`requeue.fruitlessCalls\` (4) calls of its agent that bring neither fewer failing tests nor a new failure a person is asked, over restarts, starts and tasks that continue each other. An action without effect is not repeated. Before these, the [playbooks of the owner](playbooks.md) apply to a failed check or an agent's error. If no playbook is left, "then" applies: the goal pauses, or a person is asked.`,
      'The rung is the family of a playbook: 0 preparing, 1 permissions, 2 model provider and git remote, 3 progress of the agent, 4 verification, 5 path rules, 6 infrastructure, 7 merging, 8 queue, 9 a person. The scope says what performs the action: `launch` the supervisor of the agent, `run` the run itself, `task` the queue, `goal` the merge queue.',
      '## Playbooks',
      table(
        ['playbook', 'rung', 'scope', 'labels', 'needed evidence', 'action', 'post-condition', 'budget', 'then'],
        playbooks.map(playbookRow),
      ),
      '## Commands that a playbook may run',
      'The commands run without a shell, in the clone of a run or in the clone in which its work is checked, and never in your checkout. They have the environment of checks and count towards the time limit of verification. For each language, the first manager in this table whose file exists applies; the `packageManager` field of a package.json takes precedence. `{file}` is the file of the second column.',
      table(['manager', 'applies to a folder with', 'command', 'tested with'], managerRows()),
      '## Probes',
      'Probes run after a failed check, before the agent is blamed. Their findings are part of the evidence, of the event `verify.probed` and of `unstuck explain`. A failed probe gives no finding, and a missing finding never assigns blame. A failure of the code (a failed assertion, a compiler error) stays one, whatever a probe finds.',
      table(['probe', 'runs for labels', 'inspects', 'what is at fault'], probes.map(probeRow)),
      '## What a CLI reports and what it means',
      "The first match wins. Text counts only in a structured error field, or on the CLI's own stderr with a failing exit. Any other failure is `unknown`.",
      table(['rule', 'harness', 'reported', 'rung', 'label', 'failure code', 'retryable'], ruleRows()),
      '## What a provider refuses',
      'These rules are applied before the rules above: first by type, then by code, sentence and status. A sentence counts only at the start of a line. The reset time of a limit comes from a structured field, else from the text after words such as "resets" or "try again": an epoch, a duration, a time of day with or without zone, a date, or seconds. It is never in the past, and at most 8 days away.',
      table(['rule', 'kind', 'type', 'code', 'sentence', 'status', 'label', 'failure code', 'retryable'], limitRows()),
    ].join('\n\n'),
  )
