/** How recovery does: how often it helped, how long it took, what it could not mend, and the paths that it opened. */
import { useState } from 'react'
import type { GrantList, RecoveryFigures } from '../../src/api/contract.ts'
import type { PageAction } from '../data/actions.ts'
import { useGrants, useRecoveryFigures } from '../data/queries.ts'
import { serverTime, type ServerClock } from '../logic/clock.ts'
import {
  causeText,
  dayBars,
  familyText,
  percentText,
  questionsPer100,
  tookText,
  sinceDays,
} from '../logic/recovery-words.ts'
import { linkTo } from '../logic/route.ts'
import { plural } from '../logic/text.ts'
import { Actions } from '../parts/actions.tsx'
import { Ago, Loading, SafeText } from '../parts/basics.tsx'
import { RecoveryDays } from '../parts/recovery-days.tsx'
import { PagePart } from '../parts/page-part.tsx'

const periods = [7, 14, 30] as const

const Tally = ({ figures }: { figures: RecoveryFigures }) => {
  const { done, withoutPerson, classes } = figures
  const questions = questionsPer100(figures)
  const attempts = classes.reduce((sum, each) => sum + each.attempts, 0)
  const successes = classes.reduce((sum, each) => sum + each.successes, 0)
  return (
    <ul className="tally" aria-label="In short">
      <li>
        <strong>{attempts}</strong> recoveries
      </li>
      <li className="good">
        <strong>{percentText(successes, attempts)}</strong> helped
      </li>
      <li>
        <strong>{percentText(withoutPerson, done)}</strong> of {plural(done, 'task')} done without a question
      </li>
      {questions !== undefined && (
        <li>
          <strong>{questions}</strong> questions per 100 tasks
        </li>
      )}
    </ul>
  )
}

const Causes = ({ classes }: Pick<RecoveryFigures, 'classes'>) => (
  <table className="figures">
    <thead>
      <tr>
        <th scope="col">Cause</th>
        <th scope="col">Family</th>
        <th scope="col" className="amount">
          Tried
        </th>
        <th scope="col" className="amount">
          Helped
        </th>
        <th scope="col" className="amount" title="Median from the decision to the observed effect">
          Time to recover
        </th>
        <th scope="col" className="amount" title="Time of the attempts that did not help">
          Time lost
        </th>
      </tr>
    </thead>
    <tbody>
      {classes.map(({ label, rung, attempts, successes, medianSeconds, lostSeconds }) => (
        <tr key={`${label} ${rung}`} data-row="">
          <th scope="row">{causeText(label)}</th>
          <td className="quiet">{familyText(rung)}</td>
          <td className="amount" data-name="tried">
            {attempts}
          </td>
          <td className="amount" data-name="helped">
            {percentText(successes, attempts)}
          </td>
          <td className="amount" data-name="to recover">
            {tookText(medianSeconds)}
          </td>
          <td className="amount" data-name="lost">
            {lostSeconds === 0 ? '–' : tookText(lostSeconds)}
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

const Worst = ({ worst }: Pick<RecoveryFigures, 'worst'>) => (
  <ol className="lines worst">
    {worst.map(({ label, text, attempts, successes, tasks, taskId }) => (
      <li key={`${label} ${text} ${taskId}`} className="fact-line" data-row="">
        <span className={successes === attempts ? 'state good' : 'state bad'}>
          helped {successes} of {attempts}
        </span>
        <span className="why">
          <a href={linkTo.task(taskId)} data-open="">
            <SafeText text={text} />
          </a>
          {tasks > 1 && <span className="quiet"> in {tasks} tasks</span>}
        </span>
      </li>
    ))}
  </ol>
)

const revoke = (id: string): PageAction => ({
  ...{ label: 'Revoke', path: '/grants/revoke', body: { grant: id, by: 'dashboard' } },
  command: `unstuck grants revoke ${id}`,
})

const forget = (path: string): PageAction => ({
  ...{ label: 'Forget', path: '/learned-paths/forget', body: { path, by: 'dashboard' } },
  command: `unstuck grants forget ${path}`,
})

const Opened = ({ list, clock }: { list: GrantList; clock: ServerClock }) => (
  <ul className="lines">
    {list.grants.map(({ id, path, scope, why, lastUsedAt }) => (
      <li key={id} className="fact-line">
        <span className="why">
          <code>
            <SafeText text={path} />
          </code>{' '}
          granted for one {scope}, last used <Ago at={lastUsedAt} clock={clock} />
          {why !== '' && (
            <span className="quiet">
              : <SafeText text={why} />
            </span>
          )}
        </span>
        <Actions actions={[revoke(id)]} about={`the grant of ${path}`} />
      </li>
    ))}
    {list.learned.map(({ path, seen, lastSeenAt }) => (
      <li key={path} className="fact-line">
        <span className="why">
          <code>
            <SafeText text={path} />
          </code>{' '}
          learned as made by checks, seen {seen} times, last <Ago at={lastSeenAt} clock={clock} />
        </span>
        <Actions actions={[forget(path)]} about={`the learned path ${path}`} />
      </li>
    ))}
  </ul>
)

const Paths = ({ clock }: { clock: ServerClock }) => {
  const list = useGrants().data
  if (list === undefined || list.grants.length + list.learned.length === 0) return null
  return (
    <PagePart title="Opened and learned paths" count={list.grants.length + list.learned.length}>
      <Opened list={list} clock={clock} />
    </PagePart>
  )
}

const Figures = ({ figures, days }: { figures: RecoveryFigures; days: number }) => (
  <>
    <PagePart title="By day">
      <RecoveryDays bars={dayBars(figures, days)} />
    </PagePart>
    <PagePart title="By cause" count={figures.classes.length}>
      <Causes classes={figures.classes} />
    </PagePart>
    <PagePart title="What costs most" count={figures.worst.length}>
      <Worst worst={figures.worst} />
    </PagePart>
  </>
)

export const RecoveryPage = ({ clock }: { clock: ServerClock }) => {
  const [days, setDays] = useState<number>(14)
  const since = sinceDays(days - 1, serverTime(clock, performance.now()))
  const { data, error } = useRecoveryFigures(since)
  if (data === undefined) return error === null ? <Loading what="the figures" /> : <p role="alert">{error.message}</p>
  return (
    <div className="recovery">
      <div className="now-head">
        <h1>Recovery</h1>
        <Tally figures={data} />
        <label className="filter">
          Period{' '}
          <select value={days} onChange={(event) => setDays(Number(event.target.value))}>
            {periods.map((each) => (
              <option key={each} value={each}>
                {each} days
              </option>
            ))}
          </select>
        </label>
      </div>
      {data.classes.length === 0 ? (
        <p className="quiet">Nothing had to be recovered in this time.</p>
      ) : (
        <Figures figures={data} days={days} />
      )}
      <Paths clock={clock} />
    </div>
  )
}
