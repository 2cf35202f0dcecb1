/** Every question that waits for a person, in one place: grouped by cause, one open at a time, answered by keyboard. */
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { questionTopic, type AnswerResults } from '../../src/api/contract.ts'
import { answersTo, type Report } from '../data/actions.ts'
import { useInboxKeys } from '../data/inbox-keys.ts'
import { useInbox } from '../data/queries.ts'
import type { ServerClock } from '../logic/clock.ts'
import {
  batchNotices,
  movedBy,
  nameOf,
  placeIn,
  answerRefusal,
  sharedChoices,
  type InboxGroup,
  type InboxKey,
  type InboxQuestion,
  type Notice,
  type Place,
} from '../logic/inbox.ts'
import { linkTo } from '../logic/route.ts'
import { plural } from '../logic/text.ts'
import { Loading, SafeText } from '../parts/basics.tsx'
import { ChoiceList } from '../parts/choices.tsx'
import { InboxItem } from '../parts/inbox-question.tsx'

const rowOf = (id: string): HTMLElement | null => document.querySelector(`[data-question="${id}"]`)

/**
 * The open question; `at`: the one that the address names. The address follows, so that the way back from a log leads to the same
 * question. Answered questions leave the list only when the engine says so; then the next one opens.
 */
const usePlace = (ids: readonly string[], at: string | undefined) => {
  const [wanted, setWanted] = useState<Place | undefined>(at === undefined ? undefined : { id: at, index: 0 })
  const place = placeIn(ids, wanted)
  const id = place?.id
  const before = useRef(id)
  const arrival = useEffectEvent(() => {
    if (at === undefined || id === undefined) return
    rowOf(id)?.focus({ preventScroll: true })
    rowOf(id)?.scrollIntoView({ block: 'nearest' })
  })
  useEffect(() => arrival(), [])
  useEffect(() => {
    if (before.current === id) return
    const answered = before.current !== undefined
    before.current = id
    if (place !== undefined) setWanted(place)
    // The focus was in what is gone. Focus that is elsewhere stays there.
    if (answered && id !== undefined && document.activeElement === document.body) rowOf(id)?.focus()
  })
  const go = (next: Place | undefined): void => {
    if (next === undefined) return
    setWanted(next)
    history.replaceState(null, '', linkTo.question(next.id))
    rowOf(next.id)?.focus()
    rowOf(next.id)?.scrollIntoView({ block: 'nearest' })
  }
  return { place, go }
}

const mostNotices = 5

const useNotices = () => {
  const [notices, setNotices] = useState<Notice[]>([])
  const add = (more: readonly Omit<Notice, 'key'>[]): void =>
    setNotices((old) =>
      [...old, ...more.map((notice, index) => ({ ...notice, key: Date.now() + index }))].slice(-mostNotices),
    )
  return { notices, add }
}

/** Selected questions are of one group, because only those have the same cause. */
const useSelection = (groups: readonly InboxGroup[]) => {
  const [ids, setIds] = useState<readonly string[]>([])
  const group = groups.find(({ questions }) => questions.some(({ id }) => ids.includes(id)))
  const selected = group?.questions.filter(({ id }) => ids.includes(id)) ?? []
  const toggle = (id: string): void => {
    const own = groups.find(({ questions }) => questions.some((each) => each.id === id))
    if (own === undefined || own.questions.length < 2) return
    const kept = own === group ? selected.map((each) => each.id) : []
    setIds(kept.includes(id) ? kept.filter((each) => each !== id) : [...kept, id])
  }
  const all = (own: InboxGroup | undefined): void => {
    if (own === undefined || own.questions.length < 2) return
    const whole = own === group && selected.length === own.questions.length
    setIds(whole ? [] : own.questions.map(({ id }) => id))
  }
  return { selected, toggle, all, clear: () => setIds([]) }
}

const Notices = ({ notices }: { notices: readonly Notice[] }) => (
  <div role="status" aria-label="Answers">
    <ul className="notices">
      {notices.map(({ key, tone, text }) => (
        <li key={key} className={tone}>
          <SafeText text={text} />
        </li>
      ))}
    </ul>
  </div>
)

interface BatchProps {
  selected: readonly InboxQuestion[]
  report: Report
}

const Batch = ({ selected, report }: BatchProps) => {
  const choices = sharedChoices(selected)
  return (
    <section className="batch" aria-label="Answer all selected" data-digits="">
      <p>
        <strong>{selected.length} selected.</strong>{' '}
        {choices.length === 0 ? 'They have no choice in common.' : 'The same answer for all of them:'}
      </p>
      <ChoiceList
        choices={choices}
        actionFor={(choice, written) => answersTo(selected, choice, written)}
        numbered
        report={report}
      />
    </section>
  )
}

interface GroupProps {
  group: InboxGroup
  selected: readonly InboxQuestion[]
  place: Place | undefined
  clock: ServerClock
  open: (id: string) => void
  toggle: (id: string) => void
  all: () => void
  reportOne: (question: InboxQuestion) => Report
  reportBatch: Report
}

const Group = ({ group, selected, place, clock, open, toggle, all, reportOne, reportBatch }: GroupProps) => {
  const own = group.questions.filter((question) => selected.includes(question))
  const several = group.questions.length > 1
  return (
    <section className="panel inbox-group" aria-labelledby={`cause-${group.id}`}>
      <div className="panel-head">
        <h2 id={`cause-${group.id}`}>
          <span className="badge warn">
            {group.questions[0] === undefined ? '' : questionTopic(group.questions[0])}
          </span>{' '}
          <SafeText text={group.cause} />
          {several && <span className="quiet"> {plural(group.questions.length, 'question')}</span>}
        </h2>
        {several && (
          <button type="button" className="link" onClick={all}>
            {own.length === group.questions.length ? 'Select none' : `Select all ${group.questions.length}`}
          </button>
        )}
      </div>
      {own.length > 0 && <Batch key={own.map(({ id }) => id).join(' ')} selected={own} report={reportBatch} />}
      <ol className="inbox-list">
        {group.questions.map((question) => (
          <InboxItem
            key={question.id}
            question={question}
            clock={clock}
            current={question.id === place?.id}
            selected={own.includes(question)}
            selectable={several}
            numbered={selected.length === 0}
            open={() => open(question.id)}
            select={() => toggle(question.id)}
            report={reportOne(question)}
          />
        ))}
      </ol>
    </section>
  )
}

const Nothing = () => (
  <p className="quiet" role="status">
    No question waits for you. What moves is on the first page.
  </p>
)

const useReports = (selected: readonly InboxQuestion[], add: ReturnType<typeof useNotices>['add']) => ({
  reportOne:
    (question: InboxQuestion): Report =>
    ({ label }, { error }) =>
      add([
        error === undefined
          ? { tone: 'good', text: `${nameOf(question)}: ${label}. Done.` }
          : { tone: 'bad', text: `${nameOf(question)}: ${answerRefusal(error.message)}` },
      ]),
  reportBatch: (({ label }, { result, error }) =>
    add(
      error === undefined
        ? batchNotices((result as AnswerResults).results, selected, label)
        : [{ tone: 'bad', text: error.message }],
    )) as Report,
})

interface InboxProps {
  clock: ServerClock
  /** The question to open. */
  at: string | undefined
}

const Questions = ({ groups, clock, at }: InboxProps & { groups: readonly InboxGroup[] }) => {
  const ids = groups.flatMap(({ questions }) => questions.map(({ id }) => id))
  const { place, go } = usePlace(ids, at)
  const { selected, toggle, all, clear } = useSelection(groups)
  const { notices, add } = useNotices()
  const { reportOne, reportBatch } = useReports(selected, add)
  useInboxKeys((key: Exclude<InboxKey, { do: 'choose' }>) => {
    if (key.do === 'move') go(movedBy(ids, place, key.step))
    if (key.do === 'select' && place !== undefined) toggle(place.id)
    if (key.do === 'selectAll') all(groups.find(({ questions }) => questions.some(({ id }) => id === place?.id)))
    if (key.do === 'clear') clear()
  })
  return (
    <>
      <div className="panel-head inbox-head">
        <h1>Inbox</h1>
      </div>
      <Notices notices={notices} />
      {groups.length === 0 && <Nothing />}
      {groups.map((group) => (
        <Group
          key={group.id}
          {...{ group, selected, place, clock, toggle, reportOne, reportBatch }}
          open={(id) => go({ id, index: ids.indexOf(id) })}
          all={() => all(group)}
        />
      ))}
    </>
  )
}

export const InboxPage = (props: InboxProps) => {
  const { data } = useInbox()
  return (
    <section className="inbox" aria-label="Inbox">
      {data === undefined ? <Loading what="the questions" /> : <Questions groups={data.groups} {...props} />}
    </section>
  )
}
