/** The schedules with their next time or their trigger, and why the last one began no goal. */
import type { StatusView } from '../../src/api/contract.ts'
import { dateText } from '../logic/clock.ts'
import { SafeText } from './basics.tsx'
import { PagePart } from './page-part.tsx'

export const Scheduled = ({ schedules }: Pick<StatusView, 'schedules'>) =>
  schedules.length === 0 ? null : (
    <PagePart title="Scheduled" count={schedules.length}>
      <ul className="lines">
        {schedules.map(({ id, title, trigger, cron, timeZone, nextAt, problem }) => (
          <li key={id} className="goal-line" title={trigger === null ? `${cron} (${timeZone})` : undefined}>
            <span className="what">
              <SafeText text={title} />
            </span>
            <span className="quiet">{trigger === null ? dateText(nextAt) : `on ${trigger}`}</span>
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
