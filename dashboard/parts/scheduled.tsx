/** The schedules with their next time, and why the last one began no goal. */
import type { StatusView } from '../../src/api/contract.ts'
import { dateText } from '../logic/clock.ts'
import { SafeText } from './basics.tsx'
import { PagePart } from './page-part.tsx'

export const Scheduled = ({ schedules }: Pick<StatusView, 'schedules'>) =>
  schedules.length === 0 ? null : (
    <PagePart title="Scheduled" count={schedules.length}>
      <ul className="lines">
        {schedules.map(({ id, title, cron, timeZone, nextAt, problem }) => (
          <li key={id} className="goal-line" title={`${cron} (${timeZone})`}>
            <span className="what">
              <SafeText text={title} />
            </span>
            <span className="quiet">{dateText(nextAt)}</span>
            {problem !== '' && (
              <p className="none bad-text">
                <SafeText text={`Began no goal: ${problem}`} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </PagePart>
  )
