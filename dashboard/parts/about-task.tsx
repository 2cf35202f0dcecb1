/** What a task is: its instructions, limits and checks, what it reviews or waits for, and the tasks that it continues or is corrected by. */
import type { ReactNode } from 'react'
import type { Run } from '../../src/api/contract.ts'
import type { BoardTask, Card } from '../logic/board.ts'
import { linkTo } from '../logic/route.ts'
import { spanText } from '../logic/clock.ts'
import { moneyText, plural, roleText, tokensText } from '../logic/text.ts'
import { Facts, SafeText, Section, TextBlock } from './basics.tsx'
import { TaskLink } from './links.tsx'

const listOf = (items: readonly string[]): ReactNode =>
  items.length === 0 ? null : (
    <ul className="plain">
      {items.map((item) => (
        <li key={item}>
          <code>
            <SafeText text={item} />
          </code>
        </li>
      ))}
    </ul>
  )

const dependenciesOf = ({ task, goal }: Card): ReactNode =>
  task.dependsOn.length === 0
    ? null
    : task.dependsOn.map((id) => (
        <a key={id} href={linkTo.task(id)} className="part">
          #{goal.tasks.find((other) => other.id === id)?.number ?? '?'}
        </a>
      ))

const TaskReference = ({ id, goal }: { id: string; goal: Card['goal'] }) => {
  const task = goal.tasks.find((other) => other.id === id)
  return task === undefined ? <code>{id}</code> : <TaskLink task={task} />
}

/** The tasks that correct or continue its work, and the one whose work it corrects or continues. */
const relativesOf = ({ task, goal }: Card): [string, ReactNode][] => {
  const children = goal.tasks.filter(({ id, rework }) => rework?.parent === task.id && id !== task.supersededBy)
  return [
    ['Continues', task.rework === null ? null : <TaskReference key="parent" id={task.rework.parent} goal={goal} />],
    ['Because', task.rework === null ? null : <SafeText key="because" text={task.rework.because} />],
    [
      'Corrected by',
      children.length === 0
        ? null
        : children.map(({ id }) => (
            <span key={id} className="part">
              <TaskReference id={id} goal={goal} />
            </span>
          )),
    ],
    [
      'Continued by',
      task.supersededBy === null ? null : <TaskReference key="next" id={task.supersededBy} goal={goal} />,
    ],
  ]
}

const reviewText = ({ review }: BoardTask): string | null => {
  if (review === null) return null
  const head = review.head === null ? '' : ` (${review.head.slice(0, 12)})`
  return 'branch' in review ? `branch ${review.branch}${head}` : `merge entry ${review.mergeEntry}${head}`
}

const linkText = ({ link }: BoardTask): string | null =>
  link === null ? null : `${link.waitsFor}${link.issue === null ? '' : `: ${link.issue}`}`

const judges = { auto: 'its checks', llm: 'a reviewer', human: 'you' } as const

/** The strictest of these applies; what the configuration asks for is not known here. */
const judgeText = ({ task, goal }: Card): string | null => {
  const asked = [task.judge, goal.judge].flatMap((mode) => mode ?? [])
  if (asked.length === 0) return null
  return judges[asked.includes('human') ? 'human' : asked.includes('llm') ? 'llm' : 'auto']
}

const safe = (text: string | null): ReactNode => (text === null ? null : <SafeText text={text} />)

/** Which paths the task may change, and what the newest run changed that is not part of its work. */
export const PathFence = ({ task, run }: { task: BoardTask; run: Run | undefined }) => {
  const { changedPaths = [], excluded = [], refused = [] } = run?.verdict ?? {}
  return (
    <Section title="Path fence">
      <Facts
        rows={[
          ['May change', listOf(task.allowedPaths)],
          ['May not change', listOf(task.deniedPaths)],
          ['Changed', changedPaths.length === 0 ? null : plural(changedPaths.length, 'path')],
          ['Left out', listOf(excluded.map(({ path, because }) => `${path}: ${because}`))],
          ['Refused', listOf(refused)],
        ]}
      />
    </Section>
  )
}

/** What all attempts together spent. */
export const TaskCost = ({ runs }: { runs: readonly Run[] }) => {
  const sum = (of: (spend: Run['spend']) => number): number => runs.reduce((all, { spend }) => all + of(spend), 0)
  return (
    <Section title="Cost">
      <Facts
        rows={[
          ['Attempts', `${plural(runs.length, 'run')}, ${plural(launchCount(runs), 'launch', 'launches')}`],
          ['Tokens', tokensText(sum(({ tokens }) => tokens))],
          ['Money', moneyText(sum(({ costUsd }) => costUsd))],
          ['Agent time', spanText(sum(({ seconds }) => seconds) * 1000)],
        ]}
      />
    </Section>
  )
}

const launchCount = (runs: readonly Run[]): number => runs.reduce((all, { launches }) => all + launches.length, 0)

export const AboutTask = ({ card }: { card: Card }) => {
  const { task } = card
  return (
    <Section title="Task">
      <Facts
        rows={[
          ['Instructions', task.instructions === '' ? null : <TextBlock key="text" text={task.instructions} />],
          ['Hint', task.hint === null ? null : <TextBlock key="hint" text={task.hint} />],
          ['Reviews', safe(reviewText(task))],
          ['Waits for', safe(linkText(task))],
          ['Judged by', judgeText(card)],
          ...relativesOf(card),
          // A review launches no agent.
          ['Harness', task.review === null ? `${task.harness}${task.model === null ? '' : `, ${task.model}`}` : null],
          ['Role', roleText(task.role)],
          ['Depends on', dependenciesOf(card)],
          ['Checks', listOf(task.commands)],
          ['Id', <code key="id">{task.id}</code>],
        ]}
      />
    </Section>
  )
}
