/**
 * What a proposed command would do besides repairing, in words for the person who decides: its simple commands, and a note for each
 * risk. The notes inform and approve nothing, so a doubtful part gets a note rather than none. Pure.
 */
import { programOf } from '../command/command-plan.ts'
import { riskRules, type RiskKind } from './risk-rules.ts'
import { behindWrapper, shellParts, withoutLeadingOptions, type SimpleCommand } from './shell-parts.ts'

export interface RiskNote {
  kind: RiskKind
  /** What can be lost or cannot be taken back. */
  grave: boolean
  /** What the part does, as the end of "it …". */
  text: string
  /** The simple command that does it, as written. */
  part: string
}

export interface CommandReport {
  /** The simple commands in their order, as written. */
  parts: string[]
  risks: RiskNote[]
}

/** Programs whose subcommand says what they do. */
const withSubcommand = new Set(
  'git npm pnpm yarn bun cargo go docker podman kubectl uv poetry pip pip3 gem bundle composer apt apt-get'.split(' '),
)

/** The words themselves, what a wrapper could start, and each without the options before its subcommand. */
const readings = (words: readonly string[]): (readonly string[])[] =>
  [words, ...behindWrapper(words)].flatMap((each) =>
    withSubcommand.has(programOf(each) ?? '') ? [each, ...withoutLeadingOptions(each)] : [each],
  )

const redirectRisks = ({ redirects, text: part }: SimpleCommand): RiskNote[] =>
  redirects.flatMap(({ operator, target }) => {
    if (!operator.includes('>') || target === '/dev/null' || /^\d$|^-$/.test(target)) return []
    const rule = riskRules.find(({ kind }) => kind === 'leaves_workspace')
    const outside = rule?.says(['', target])
    const overwrites = { kind: 'overwrites' as const, grave: false, text: `writes into ${target}`, part }
    return outside === undefined
      ? [overwrites]
      : [overwrites, { kind: 'leaves_workspace' as const, grave: rule?.grave ?? true, text: outside, part }]
  })

const risksOf = (command: SimpleCommand): RiskNote[] => [
  ...redirectRisks(command),
  ...readings(command.words).flatMap((argv) => {
    const bare = [programOf(argv) ?? '', ...argv.slice(1)]
    return riskRules.flatMap(({ kind, grave = false, says }) => {
      const text = argv.length === 0 ? undefined : says(bare)
      return text === undefined ? [] : [{ kind, grave, text, part: command.text }]
    })
  }),
]

/** Never throws. */
export const commandReport = (command: string): CommandReport => {
  const { commands, unclear, piped, hidden } = shellParts(command)
  const unseen = { kind: 'runs_unseen_code', grave: true, text: 'runs code that this command does not show' } as const
  const risks: RiskNote[] = [
    ...unclear.map(({ what, unread, text: part }) => ({
      ...{ kind: 'unclear' as const, grave: unread, part },
      text: `contains ${what}, so not all of what runs is known before`,
    })),
    ...commands.flatMap(risksOf),
    ...piped.map((part) => ({ ...unseen, part })),
    ...hidden.map(({ what, text: part }) => ({ ...unseen, text: `runs ${what}`, part })),
  ]
  return {
    parts: [...new Set(commands.map(({ text }) => text))],
    risks: [...new Map(risks.map((risk) => [JSON.stringify(risk), risk])).values()].toSorted(
      (a, b) => Number(b.grave) - Number(a.grave),
    ),
  }
}
