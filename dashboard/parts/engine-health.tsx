/** How the engine is: whether it answers, what it may not do now, and which accounts are at their limit. */
import type { StatusView } from '../../src/api/contract.ts'
import { useHealth } from '../data/queries.ts'
import type { StreamState } from '../data/live-updates.ts'
import { timeOfDay, type ServerClock } from '../logic/clock.ts'
import { plural } from '../logic/text.ts'
import { Countdown, SafeText } from './basics.tsx'
import { PagePart } from './page-part.tsx'

interface HealthProps {
  status: StatusView
  connection: StreamState | 'gone'
  clock: ServerClock
}

const Limits = ({ status, clock }: Pick<HealthProps, 'status' | 'clock'>) =>
  status.limits.map(({ account, harnesses, evidence, until }) => (
    <li key={account} className="fact-line">
      <span className="state warn">limit of {harnesses.join(', ')}</span>
      <span className="why">
        until {timeOfDay(until).replace(/(\d+:\d+):\d+/, '$1')}: <SafeText text={evidence} />
      </span>
      <Countdown at={until} status="blocked(quota_wait)" clock={clock} />
    </li>
  ))

type Engine = StatusView['engines'][number]

const engineWord = (engine: Engine): string =>
  engine.silent ? 'not responding' : engine.waiting === null ? engine.state : engine.waiting

const Engines = ({ engines }: { engines: readonly Engine[] }) => {
  const shown = engines.filter(({ state }) => state !== 'offline')
  const isPlain =
    shown.length === 1 && shown.every(({ silent, waiting, state }) => !silent && waiting === null && state === 'online')
  if (isPlain) return null
  return shown.map((engine) => (
    <li key={engine.id} className="fact-line">
      <span className={engine.silent || engine.waiting !== null ? 'state warn' : 'state good'}>
        {engineWord(engine)}
      </span>
      <span className="why">
        engine on <SafeText text={engine.host} />
      </span>
    </li>
  ))
}

const Undelivered = ({ undelivered }: Pick<StatusView, 'undelivered'>) =>
  undelivered.map(({ channel, waiting, givenUp, problem }) => (
    <li key={channel} className="fact-line">
      <span className="state warn">{channel}</span>
      <span className="why">
        {plural(waiting + givenUp, 'notification')} not delivered: <SafeText text={problem} />
      </span>
    </li>
  ))

export const EngineHealth = ({ status, connection, clock }: HealthProps) => {
  const { data } = useHealth()
  return (
    <PagePart title="Engine">
      <ul className="lines">
        <li className="fact-line">
          <span className={connection === 'live' ? 'state good' : 'state bad'}>
            {connection === 'live' ? 'running' : 'not responding'}
          </span>
          <span className="why">
            {data !== undefined && (
              <>
                version <SafeText text={data.version} />
                {data.draining && '; it starts nothing new and stops when its runs have ended'}
              </>
            )}
          </span>
        </li>
        <Limits status={status} clock={clock} />
        <Engines engines={status.engines} />
        <Undelivered undelivered={status.undelivered} />
      </ul>
    </PagePart>
  )
}
