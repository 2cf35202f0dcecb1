/** Sections of the page of a run: phases, launches with their corrections, checks, and the error. */
import type { ReactNode } from 'react'
import { outcomeText, runPhases, type Run } from '../../src/api/contract.ts'
import { spanText, type ServerClock } from '../logic/clock.ts'
import { moneyText, plural, tokensText, words } from '../logic/text.ts'
import { Ago, Badge, TextBlock, Facts, SafeText, Section } from './basics.tsx'

type Shown = Run
type Launch = Shown['launches'][number]

export const Phases = ({ run }: { run: Shown }) => {
  const at = runPhases.indexOf(run.phase)
  const markOf = (index: number): string => {
    if (index < at || (index === at && run.state === 'success')) return 'passed'
    if (index > at) return ''
    return run.state === 'running' ? 'current' : 'stopped'
  }
  return (
    <ol className="phases" aria-label="Phases">
      {runPhases.map((phase, index) => (
        <li key={phase} className={markOf(index)} aria-current={index === at ? 'step' : undefined}>
          {phase}
        </li>
      ))}
    </ol>
  )
}

const correctionsOf = ({ corrections, resumeSession, hint }: Launch): string[] => [
  ...corrections.addDirs.map((dir) => `directory ${dir} allowed`),
  ...(corrections.toolRules ?? []).map((rule) => `${rule} allowed`),
  ...(corrections.skipGitCheck ? ['git check skipped'] : []),
  ...(resumeSession === null ? [] : [`session ${resumeSession} resumed`]),
  ...(hint === null ? [] : [`hint: ${hint}`]),
]

export const Launches = ({ run, clock }: { run: Shown; clock: ServerClock }) => (
  <Section title="Launches">
    {run.launches.length === 0 && (
      <p className="quiet">{run.state === 'running' ? 'No agent has been started yet.' : 'No agent was started.'}</p>
    )}
    <ol className="rows">
      {run.launches.map((launch) => (
        <li key={launch.number}>
          <strong>Launch {launch.number}</strong>{' '}
          <span className="quiet">
            {launch.startedAt === null ? 'not started' : <Ago at={launch.startedAt} clock={clock} />}
            {launch.spend !== null &&
              `, ${tokensText(launch.spend.tokens)}, ${moneyText(launch.spend.costUsd)}, ${spanText(launch.spend.seconds * 1000)}`}
          </span>
          <ul className="plain">
            {correctionsOf(launch).map((text) => (
              <li key={text}>
                <SafeText text={text} />
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ol>
  </Section>
)

const sources = {
  task: 'from the task',
  config: 'from the configuration',
  contract: 'from the verify contract',
  inferred: 'found in the repository',
}

type Verdict = NonNullable<Shown['verdict']>
type Check = Verdict['checks'][number]

const toneOf = ({ excused, exitCode, timedOut, ranNothing }: Check): string => {
  if (excused !== undefined) return 'warn'
  return exitCode === 0 && !timedOut && ranNothing === undefined ? 'good' : 'bad'
}

const endOf = ({ exitCode, signal, timedOut, excused, ranNothing }: Check): string => {
  if (excused !== undefined) return excused.because === 'flaky' ? 'flaky' : 'still failing, as before the work'
  if (ranNothing !== undefined) return 'ran no test'
  if (timedOut) return 'timed out'
  if (exitCode === 0) return 'passed'
  return exitCode === null ? `ended by ${signal ?? 'a signal'}` : `exit ${exitCode}`
}

const CheckRow = ({ check }: { check: Check }) => (
  <li>
    <code>
      <SafeText text={check.command} />
    </code>{' '}
    <span className={`badge ${toneOf(check)}`}>{endOf(check)}</span>{' '}
    <span className="quiet">
      {spanText(check.durationMs)}, {sources[check.source]}
    </span>
    {check.excused !== undefined && <SafeText text={`: ${check.excused.failing.join('; ')}`} />}
  </li>
)

const DroppedRow = ({ dropped: { command, reason, by } }: { dropped: Verdict['dropped'][number] }) => (
  <li>
    <code>
      <SafeText text={command} />
    </code>{' '}
    <span className="badge warn">{by === undefined ? 'dropped' : 'replaced'}</span>{' '}
    <SafeText text={by === undefined ? reason : `${by} ran instead: ${reason}`} />
  </li>
)

const Remarks = ({ verdict }: { verdict: Verdict }) => (
  <>
    {(verdict.weakened ?? []).map(({ kind, path, count, detail }) => (
      <p key={`${kind} ${path} ${detail}`}>
        <span className="badge warn">{kind}</span> <SafeText text={`${path} (${count}) ${detail}`} />
      </p>
    ))}
    {verdict.notes.map((note) => (
      <p key={note} className="quiet">
        <SafeText text={note} />
      </p>
    ))}
    <details>
      <summary>{plural(verdict.changedPaths.length, 'changed path')}</summary>
      <TextBlock text={verdict.changedPaths.join('\n')} />
    </details>
  </>
)

export const Checks = ({ run: { verdict, state } }: { run: Shown }) => {
  if (verdict === null)
    return (
      <Section title="Checks">
        <p className="quiet">{state === 'running' ? 'Not verified yet.' : 'No check ran.'}</p>
      </Section>
    )
  return (
    <Section title="Checks" extra={<Badge state={verdict.outcome} />}>
      <ul className="rows">
        {verdict.checks.map((check, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- a verdict does not change, and may contain a command twice
          <CheckRow key={index} check={check} />
        ))}
        {verdict.dropped.map((dropped) => (
          <DroppedRow key={`${dropped.command} ${dropped.reason}`} dropped={dropped} />
        ))}
      </ul>
      {verdict.proof !== undefined && (
        <p>
          <SafeText text={outcomeText(verdict.outcome, verdict.proof)} />
        </p>
      )}
      <Remarks verdict={verdict} />
    </Section>
  )
}

const blockOf = (text: string | undefined): ReactNode => (text === undefined ? null : <TextBlock text={text} />)

const violationsOf = ({ policyViolations }: RunError): string | undefined =>
  policyViolations?.map(({ path, kind, rule }) => `${path}: ${kind} (${rule})`).join('\n')

type RunError = NonNullable<Shown['errorMeta']>

export const ErrorReport = ({ error }: { error: RunError }) => (
  <section className="panel error" aria-labelledby="error">
    <h2 id="error">
      <SafeText text={words(error.failureCode)} />
    </h2>
    <p>
      <SafeText text={error.message} />
    </p>
    <Facts
      rows={[
        ['Source', error.source],
        ['Evidence', blockOf(error.evidence === '' ? undefined : error.evidence)],
        ['Command', blockOf(error.failedCommand)],
        ['Error output', blockOf(error.failedCommandStderr)],
        ['Paths', blockOf(violationsOf(error))],
      ]}
    />
  </section>
)
