/** docs/recovery.md: playbooks, probes and rules, one heading or one item each. */
import type { Diagnosis } from '../src/recovery/types.ts'
import { launchRules } from '../src/recovery/diagnosis/launch-failure.ts'
import { managers } from '../src/recovery/install.ts'
import { limitRules } from '../src/recovery/limit.ts'
import { nextStep, playbooks, totalBudget } from '../src/recovery/ladder.ts'
import { probes } from '../src/recovery/probe.ts'
import type { Action, Playbook, PostCondition } from '../src/recovery/playbook.ts'
import { code, facts, generatedPage, item, plain, wrap } from './markdown.ts'

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

const families: Record<Playbook['rung'], string> = {
  0: 'preparing',
  1: 'permissions',
  2: 'model provider and git remote',
  3: 'progress of the agent',
  4: 'verification',
  5: 'path rules',
  6: 'infrastructure',
  7: 'merging',
  8: 'queue',
  9: 'a person',
}

const list = (names: readonly string[]): string => names.map(code).join(', ')

const playbookSection = (playbook: Playbook): string => {
  const diagnosis = sample(playbook)
  const action = playbook.plan(diagnosis, { attempts: 0, taskId: '', retry: noRetry })
  if (action === undefined)
    throw new Error(`playbook ${playbook.id} plans no action for its own label; give its record an example`)
  const condition = playbook.postCondition(action)
  const none = nextStep(diagnosis, [], { playbooks: [], disabled: [], retry: noRetry }, { id: '', runId: '' })
  return [
    `### ${playbook.id}`,
    wrap(`${playbook.title.slice(0, 1).toUpperCase()}${playbook.title.slice(1)}.`),
    facts([
      ['rung', `${playbook.rung}, ${families[playbook.rung]}; scope \`${playbook.scope}\``],
      ['labels', list(playbook.labels)],
      ['needed evidence', plain(playbook.neededEvidence)],
      ['action', withFields(action.name, action)],
      ['post-condition', withFields(condition.type, condition)],
      ['budget', `${playbook.budget}${playbook.counted ? '' : ', not counted towards the total'}`],
      ['then', none.kind === 'exhausted' ? code(none.then) : ''],
    ]),
  ].join('\n\n')
}

const contents = (): string =>
  [...Map.groupBy(playbooks, ({ rung }) => rung)]
    .toSorted(([one], [other]) => one - other)
    .map(([rung, members]) =>
      item(`${rung}, ${families[rung]}: ${members.map(({ id }) => `[${id}](#${id})`).join(', ')}`),
    )
    .join('\n')

interface Meaning {
  label: string
  failureCode: string
  retryable: boolean
}

const meaningOf = ({ label, failureCode, retryable }: Meaning): string =>
  `label ${code(label)}, failure code ${code(failureCode)}, ${retryable ? 'retryable' : 'not retryable'}`

/** Name and what is reported, then what it means below. */
const ruleItem = (id: string, reported: string, meaning: string): string =>
  `${item(`${code(id)}: ${reported}`)}\n${item(meaning, 1)}`

const launchRuleItems = (): string =>
  launchRules
    .map(({ id, harness, types = [], text, meaning }) =>
      ruleItem(
        id,
        `${harness ?? 'any harness'}: ${list([...types, ...(text === undefined ? [] : [text.source])])}`,
        `rung ${meaning.rung}, ${meaningOf(meaning)}`,
      ),
    )
    .join('\n')

const limitRuleItems = (): string =>
  limitRules
    .map((rule) => {
      const reported = [
        list(rule.types ?? []) + (rule.textPattern === undefined ? '' : ` with text ${code(rule.textPattern.source)}`),
        (rule.codes ?? []).length === 0 ? '' : `code ${list(rule.codes ?? [])}`,
        rule.sentencePatterns === undefined
          ? ''
          : `one of ${rule.sentencePatterns.length} sentences in src/recovery/limit.ts`,
        (rule.statuses ?? []).length === 0 ? '' : `status ${(rule.statuses ?? []).join(', ')}`,
      ].filter((part) => part !== '')
      return ruleItem(rule.id, `${rule.kind}: ${reported.join('; ')}`, meaningOf(rule.meaning))
    })
    .join('\n')

const probeItems = (): string =>
  probes
    .map(({ id, labels, inspects, concludes }) =>
      [
        item(`${code(id)}, for ${list(labels)}`),
        item(`inspects: ${plain(inspects)}`, 1),
        item(`what is at fault: ${plain(concludes)}`, 1),
      ].join('\n'),
    )
    .join('\n')

const managerItems = (): string =>
  managers
    .map(({ id, files, holds, commands, ran }) =>
      [
        item(
          `${code(id)}, for a folder with ${list(files)}${holds === undefined ? '' : ` that contains ${code(holds.source)}`}`,
        ),
        item(`command: ${commands.map((argv) => code(argv.join(' '))).join(', then ')}`, 1),
        item(`tested with: ${ran ?? 'not tested with a real manager'}`, 1),
      ].join('\n'),
    )
    .join('\n')

export const recoveryPage = (): string =>
  generatedPage(
    'Recovery',
    [
      wrap(
        `How Unstuck recovers without a person, from \`src/recovery/\`. A failure is diagnosed, which gives it a label. A playbook handles the failures with its labels, if the needed evidence is there; of several playbooks for one label, the first on this page applies. It performs the action, and the recovery counts as a success only when the post-condition has been observed. The budget is the number of attempts per task and label. In addition, a task has a total of ${totalBudget} recoveries, and after \`requeue.fruitlessCalls\` (4) calls of its agent that bring neither fewer failing tests nor a new failure a person is asked, over restarts, starts and tasks that continue each other. An action without effect is not repeated. Before these, the [playbooks of the owner](playbooks.md) apply to a failed check or an agent's error. If no playbook is left, "then" applies: the goal pauses, or a person is asked.`,
      ),
      wrap(
        'The rung is the family of a playbook: 0 preparing, 1 permissions, 2 model provider and git remote, 3 progress of the agent, 4 verification, 5 path rules, 6 infrastructure, 7 merging, 8 queue, 9 a person. The scope says what performs the action: `launch` the supervisor of the agent, `run` the run itself, `task` the queue, `goal` the merge queue.',
      ),
      '## Playbooks',
      contents(),
      ...playbooks.map(playbookSection),
      '## Commands that a playbook may run',
      wrap(
        'The commands run without a shell, in the clone of a run or in the clone in which its work is checked, and never in your checkout. They have the environment of checks and count towards the time limit of verification. For each language, the first manager of this list whose file exists applies; the `packageManager` field of a package.json takes precedence. `{file}` is the file that was found.',
      ),
      managerItems(),
      '## Probes',
      wrap(
        'Probes run after a failed check, before the agent is blamed. Their findings are part of the evidence, of the event `verify.probed` and of `unstuck explain`. A failed probe gives no finding, and a missing finding never assigns blame. A failure of the code (a failed assertion, a compiler error) stays one, whatever a probe finds.',
      ),
      probeItems(),
      '## What a CLI reports and what it means',
      wrap(
        "The first match wins. Text counts only in a structured error field, or on the CLI's own stderr with a failing exit. Any other failure is `unknown`.",
      ),
      launchRuleItems(),
      '## What a provider refuses',
      wrap(
        'These rules are applied before the rules above: first by type, then by code, sentence and status. A sentence counts only at the start of a line. The reset time of a limit comes from a structured field, else from the text after words such as "resets" or "try again": an epoch, a duration, a time of day with or without zone, a date, or seconds. It is never in the past, and at most 8 days away.',
      ),
      limitRuleItems(),
    ].join('\n\n'),
  )
