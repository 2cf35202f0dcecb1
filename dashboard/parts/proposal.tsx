/** The commands that an agent proposed: as they would run, read part by part, with a note for each risk. */
import type { InboxQuestion } from '../logic/inbox.ts'
import { words } from '../logic/text.ts'
import { CommandLine, Facts, SafeText } from './basics.tsx'
import { visible } from '../logic/text.ts'

type Proposal = NonNullable<InboxQuestion['proposal']>
type ProposedCommand = Proposal['commands'][number]

const Parts = ({ parts }: { parts: ProposedCommand['parts'] }) =>
  parts.length < 2 ? null : (
    <ol className="parts">
      {parts.map((part) => (
        <li key={part}>
          <code>
            <SafeText text={part} />
          </code>
        </li>
      ))}
    </ol>
  )

const Risks = ({ risks }: { risks: ProposedCommand['risks'] }) =>
  risks.length === 0 ? (
    <p className="quiet">No risk is known of it.</p>
  ) : (
    <ul className="risks" aria-label="Risks">
      {risks.map(({ kind, grave, text, part }) => (
        <li key={`${kind} ${text} ${part}`}>
          <span className={`badge ${grave ? 'bad' : 'warn'}`}>{words(kind)}</span> <SafeText text={text} />
        </li>
      ))}
    </ul>
  )

const Command = ({ command, title }: { command: ProposedCommand; title: string }) => (
  <section className="proposed" aria-label={title}>
    <h3>{title}</h3>
    <CommandLine text={visible(command.command)} />
    <p className="quiet">
      in <code>{visible(command.workingDir)}</code>, at most {command.timeoutSeconds} s, confidence {command.confidence}
    </p>
    <Parts parts={command.parts} />
    <Risks risks={command.risks} />
  </section>
)

export const ProposalView = ({ proposal }: { proposal: Proposal }) => (
  <>
    {proposal.commands.map((command) => (
      <Command
        key={command.step}
        command={command}
        title={command.step === 'primary' ? 'Proposed command' : 'If it does not help'}
      />
    ))}
    <Facts
      rows={[
        ['Cause', proposal.rootCause === '' ? null : <SafeText key="cause" text={proposal.rootCause} />],
        ['Expected', proposal.expected === '' ? null : <SafeText key="expected" text={proposal.expected} />],
        ['Doubt', proposal.doubt === null ? null : <SafeText key="doubt" text={proposal.doubt} />],
        ['Not valid', proposal.problem === null ? null : <SafeText key="problem" text={proposal.problem} />],
      ]}
    />
  </>
)
