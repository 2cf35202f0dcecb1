/** Every event of a goal, task or run as a sentence, for a reader who was away. Fetched when it is opened. */
import { timeOfDay } from '../logic/clock.ts'
import { useState } from 'react'
import { useHistory } from '../data/queries.ts'
import { Loading, SafeText } from './basics.tsx'

export const History = ({ id }: { id: string }) => {
  const [open, setOpen] = useState(false)
  const { data, error } = useHistory(id, open)
  return (
    <details className="panel" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Full history</summary>
      {open && data === undefined && error === null && <Loading what="the history" />}
      {error !== null && <p className="refused">{error.message}</p>}
      <ol className="story">
        {data?.lines.map((line, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- the history only grows at its end
          <li key={index}>
            <time dateTime={line.at} className="quiet">
              {timeOfDay(line.at)}
            </time>{' '}
            <SafeText text={line.text} />
          </li>
        ))}
      </ol>
    </details>
  )
}
