/** Sections of the page of a run: phases, launches with their corrections, checks, and the error. */
import type { ReactNode } from 'react'
import { runPhases, type Run } from '../../src/api/contract.ts'
import { spanText, type ServerClock } from '../logic/clock.ts'
import { moneyText, tokensText, words } from '../logic/text.ts'
import { Ago, TextBlock, Facts, SafeText, Section } from './basics.tsx'

type Shown = Run
type Launch = Shown['launches'][number]

/** The stored names of the phases say how the machine works; these say what happens. */
const phaseNames: Record<Shown['phase'], string> = {
  prepare: 'prepare',
  launch: 'start',
  supervise: 'agent works',
  collect: 'collect changes',
  verify: 'check',
  policy: 'check paths',
  commit: 'commit',
  finish: 'finish',
}

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
          {phaseNames[phase]}
        </li>
      ))}
    </ol>
  )
}

const correctionsOf = ({ corrections, resumeSession }: Launch): string[] => [
  ...corrections.addDirs.map((dir) => `folder ${dir} allowed`),
  ...(corrections.toolRules ?? []).map((rule) => `${rule} allowed`),
  ...(corrections.skipGitCheck ? ['git check skipped'] : []),
  ...(resumeSession === null ? [] : [`session ${resumeSession} resumed`]),
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
          {launch.hint !== null && (
            <details>
              <summary>What the agent was told</summary>
              <TextBlock text={launch.hint} />
            </details>
          )}
        </li>
      ))}
    </ol>
  </Section>
)

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
