/** The checks of a run: what each one came to, and its output as a log of its own. */
import { useState } from 'react'
import { outcomeText, type ChecksView, type Run } from '../../src/api/contract.ts'
import { useChecks } from '../data/queries.ts'
import { spanText } from '../logic/clock.ts'
import { endOfCheck, outputOfCheck, toneOfCheck, type VerdictCheck } from '../logic/check-words.ts'
import { capitalised, plural } from '../logic/text.ts'
import { Badge, Loading, SafeText, Section, TextBlock } from './basics.tsx'
import { AnsiText } from './log-lines.tsx'

const sources = {
  task: 'from the task',
  config: 'from the configuration',
  contract: 'from the verify contract',
  inferred: 'found in the repository',
}

type Verdict = NonNullable<Run['verdict']>
type Output = ChecksView[number]

const Output = ({ output }: { output: Output }) =>
  output.lines.length === 0 ? (
    <p className="quiet">It printed nothing.</p>
  ) : (
    <pre className="check-log" tabIndex={0} aria-label={`Output of ${output.command}`}>
      {output.lines.map(({ stream, text }, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- lines have only their order
        <span key={index} className={`check-line ${stream}`}>
          <AnsiText raw={text} />
          {'\n'}
        </span>
      ))}
    </pre>
  )

const CheckRow = ({ check, output }: { check: VerdictCheck; output: Output | undefined }) => {
  const tone = toneOfCheck(check)
  // What failed is what a person looks for.
  const [open, setOpen] = useState(tone === 'bad')
  return (
    <li>
      <details className="check" open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <span className={`badge ${tone}`}>{endOfCheck(check)}</span>{' '}
          <code>
            <SafeText text={check.command} />
          </code>{' '}
          <span className="quiet">
            {spanText(check.durationMs)}, {sources[check.source]}
            {check.tests !== undefined && `, ${plural(check.tests.ran, 'test')}`}
          </span>
        </summary>
        {check.excused !== undefined && <SafeText text={check.excused.failing.join('; ')} />}
        {open && output !== undefined && <Output output={output} />}
        {open && output === undefined && <p className="quiet">Its output is no longer kept.</p>}
      </details>
    </li>
  )
}

const DroppedRow = ({ dropped: { command, reason, by } }: { dropped: Verdict['dropped'][number] }) => (
  <li>
    <span className="badge warn">{by === undefined ? 'left out' : 'replaced'}</span>{' '}
    <code>
      <SafeText text={command} />
    </code>{' '}
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
    {verdict.changedPaths.length > 0 && (
      <details>
        <summary>{plural(verdict.changedPaths.length, 'changed path')}</summary>
        <TextBlock text={verdict.changedPaths.join('\n')} />
      </details>
    )}
  </>
)

/** While checks run there is no verdict yet, but output. */
const Running = ({ outputs }: { outputs: ChecksView }) => (
  <ul className="rows">
    {outputs.map((output) => (
      <li key={output.number}>
        <span className="badge busy">{output.outcome}</span>{' '}
        <code>
          <SafeText text={output.command} />
        </code>
        <Output output={output} />
      </li>
    ))}
  </ul>
)

const Verified = ({ verdict, outputs }: { verdict: Verdict; outputs: ChecksView }) => (
  <div className="spaced">
    {verdict.proof !== undefined && (
      <p>
        <SafeText text={capitalised(outcomeText(verdict.outcome, verdict.proof))} />
      </p>
    )}
    <ul className="rows">
      {verdict.checks.map((check, index) => (
        <CheckRow
          // oxlint-disable-next-line react/no-array-index-key -- a verdict does not change, and may contain a command twice
          key={index}
          check={check}
          output={outputOfCheck(outputs, verdict.checks, index)}
        />
      ))}
      {verdict.dropped.map((dropped) => (
        <DroppedRow key={`${dropped.command} ${dropped.reason}`} dropped={dropped} />
      ))}
    </ul>
    <Remarks verdict={verdict} />
  </div>
)

export const Checks = ({ run, title = 'Checks' }: { run: Run; title?: string }) => {
  const { verdict, state, phase } = run
  const { data } = useChecks(run.id, `${state} ${phase}`, state === 'running' && phase === 'verify')
  const outputs = data ?? []
  if (verdict !== null && data === undefined) return <Loading what="the checks" />
  return (
    <Section title={title} {...(verdict === null ? {} : { extra: <Badge state={verdict.outcome} /> })}>
      {verdict !== null && <Verified verdict={verdict} outputs={outputs} />}
      {verdict === null && outputs.length > 0 && <Running outputs={outputs} />}
      {verdict === null && outputs.length === 0 && (
        <p className="quiet">{state === 'running' ? 'Not checked yet.' : 'No check ran.'}</p>
      )}
    </Section>
  )
}
