/** What happened to a task, on one axis of time. Each bar is a link or has its text for screen readers; the wheel of the page stays free. */
import { useState } from 'react'
import { useTaskEvents } from '../data/queries.ts'
import { serverTime, timeOfDay, type ServerClock } from '../logic/clock.ts'
import {
  axisOf,
  barsOf,
  lastedText,
  timelineLanes,
  placeOf,
  ticksOf,
  type Axis,
  type Bar,
} from '../logic/task-timeline.ts'
import { visible } from '../logic/text.ts'
import { Loading, Section } from './basics.tsx'

const zooms = [1, 2, 4, 8, 16, 32, 64] as const

const BarView = ({ bar, axis, now }: { bar: Bar; axis: Axis; now: number }) => {
  const { left, width } = placeOf(bar, axis, now)
  const began = timeOfDay(new Date(bar.from).toISOString())
  const text = visible(`${bar.label}, ${lastedText(bar, now)}${bar.to === undefined ? ' so far' : ''}, from ${began}`)
  const place = { left: `${left}%`, width: `${width}%` }
  const className = `bar ${bar.tone}${bar.to === undefined ? ' lasting' : ''}`
  const label = <span aria-hidden="true">{visible(bar.label)}</span>
  return (
    <li style={place}>
      {bar.href === undefined ? (
        <span className={className} role="img" aria-label={text} title={text}>
          {label}
        </span>
      ) : (
        <a className={className} href={bar.href} aria-label={text} title={text}>
          {label}
        </a>
      )}
    </li>
  )
}

interface ChartProps {
  bars: readonly Bar[]
  now: number
  zoom: number
}

const Chart = ({ bars, now, zoom }: ChartProps) => {
  const axis = axisOf(bars, now)
  const shown = timelineLanes.filter((lane) => bars.some((bar) => bar.lane === lane))
  return (
    <div className="axis">
      <div className="axis-names" aria-hidden="true">
        {shown.map((lane) => (
          <span key={lane}>{lane}</span>
        ))}
      </div>
      <div className="axis-scroll" tabIndex={0} role="group" aria-label="Time">
        <div className="axis-body" style={{ width: `${zoom * 100}%` }}>
          {shown.map((lane) => (
            <ol key={lane} className="lane" aria-label={lane}>
              {bars
                .filter((bar) => bar.lane === lane)
                .map((bar) => (
                  <BarView key={`${bar.from} ${bar.label}`} bar={bar} axis={axis} now={now} />
                ))}
            </ol>
          ))}
          <div className="ticks" aria-hidden="true">
            {ticksOf(axis, 5 * zoom).map(({ at, left }) => (
              <span key={left} style={{ left: `${left}%` }}>
                {timeOfDay(new Date(at).toISOString())}
              </span>
            ))}
          </div>
        </div>
      </div>
      {axis.shortened && <p className="quiet axis-note">Long waits are drawn shorter than they were.</p>}
    </div>
  )
}

export const Timeline = ({ id, clock }: { id: string; clock: ServerClock }) => {
  const { data } = useTaskEvents(id)
  const [zoom, setZoom] = useState(0)
  const bars = barsOf(data ?? [])
  const factor = zooms[zoom] ?? 1
  const buttons = (
    <div className="buttons">
      <button type="button" aria-label="Zoom out" disabled={zoom === 0} onClick={() => setZoom(zoom - 1)}>
        −
      </button>
      <button type="button" aria-label="Zoom in" disabled={zoom === zooms.length - 1} onClick={() => setZoom(zoom + 1)}>
        +
      </button>
    </div>
  )
  return (
    <Section title="Timeline" extra={buttons}>
      {data === undefined && <Loading what="the timeline" />}
      {bars.length > 0 && <Chart bars={bars} now={serverTime(clock, performance.now())} zoom={factor} />}
    </Section>
  )
}
