/** Recoveries by day, as stacked bars. Each bar has its numbers for screen readers and on hover. */
import type { DayBar } from '../logic/recovery-words.ts'

const dayText = (at: number): string =>
  new Date(at + 12 * 3_600_000).toLocaleDateString(undefined, { dateStyle: 'medium' })
const shortDay = (at: number): string =>
  new Date(at + 12 * 3_600_000).toLocaleDateString(undefined, { day: 'numeric', month: 'short' })

export const RecoveryDays = ({ bars }: { bars: readonly DayBar[] }) => {
  const most = Math.max(1, ...bars.map(({ successes, failures }) => successes + failures))
  const height = (count: number): string => `${(100 * count) / most}%`
  return (
    <>
      <ul className="day-bars">
        {bars.map(({ at, successes, failures }) => {
          const text = `${dayText(at)}: ${successes} helped, ${failures} did not`
          return (
            <li key={at} title={text}>
              <span className="spoken">{text}</span>
              <span className="part failures" style={{ height: height(failures) }} aria-hidden="true" />
              <span className="part successes" style={{ height: height(successes) }} aria-hidden="true" />
            </li>
          )
        })}
      </ul>
      <p className="day-ends quiet" aria-hidden="true">
        <span>{shortDay(bars[0]?.at ?? 0)}</span>
        <span>at most {most} a day</span>
        <span>{shortDay(bars.at(-1)?.at ?? 0)}</span>
      </p>
    </>
  )
}
