/**
 * What a proposed command would do besides repairing, in words for the person who decides: its simple commands, and a note for each
 * risk. The notes inform and approve nothing, so a doubtful part gets a note rather than none. Pure.
 */
import { forEachChild, parse } from 'unbash'
import type { Command, Redirect, SyntaxNode } from 'unbash'
import { programOf } from '../command/plan.ts'
import { riskRules, type RiskKind } from './risk-rules.ts'

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

/** Longer commands are not read: a person reads them. */
const maxLength = 16_384
const deepestText = 3

/** Programs that start the command in their arguments. */
const wrappers = new Set(
  'env sudo doas xargs nohup nice ionice time timeout stdbuf setsid command exec builtin busybox watch npx bunx'.split(
    ' ',
  ),
)
const shells = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'fish', 'eval', 'su'])

const unseenParts: Partial<Record<SyntaxNode['type'], string>> = {
  CommandExpansion: 'the output of another command',
  ProcessSubstitution: 'the output of another command',
  SimpleExpansion: 'a variable',
  ParameterExpansion: 'a variable',
  ArithmeticExpansion: 'arithmetic',
  Function: 'a function of its own',
  HereDoc: 'a text of several lines',
  HereString: 'a text that it passes on',
}

interface Reading {
  parts: string[]
  risks: RiskNote[]
}

const note = (reading: Reading, risk: RiskNote): void => {
  const known = reading.risks.some(
    ({ kind, text, part }) => kind === risk.kind && text === risk.text && part === risk.part,
  )
  if (!known) reading.risks.push(risk)
}

/** The words themselves, and what a wrapper could start: the rest of its words from each one on. */
const readings = (words: readonly string[]): (readonly string[])[] => {
  const program = programOf(words) ?? ''
  if (wrappers.has(program)) return words.map((_, index) => words.slice(index))
  const started = program === 'find' ? words.findIndex((word) => /^-(?:exec|ok)(?:dir)?$/.test(word)) : -1
  return started < 0 ? [words] : [words, words.slice(started + 1)]
}

const readCommand = (source: string, { name, suffix, redirects, pos, end }: Command, reading: Reading): void => {
  const part = source.slice(pos, end)
  reading.parts.push(part)
  for (const { kind, grave, text } of redirectRisks(redirects)) note(reading, { kind, grave, text, part })
  if (name === undefined) return
  const words = [name.value, ...suffix.flatMap((each) => (each.type === 'Word' ? [each.value] : []))]
  for (const argv of readings(words)) {
    const bare = [programOf(argv) ?? '', ...argv.slice(1)]
    for (const { kind, grave = false, says } of riskRules) {
      const text = says(bare)
      if (text !== undefined) note(reading, { kind, grave, text, part })
    }
  }
}

const redirectRisks = (redirects: readonly { type: string }[]): Pick<RiskNote, 'kind' | 'grave' | 'text'>[] =>
  redirects.flatMap((each) => {
    if (each.type !== 'Redirect') return []
    const { operator, target } = each as Redirect
    const path = target?.value ?? ''
    if (!operator.includes('>') || path === '/dev/null' || /^\d$|^-$/.test(path)) return []
    const rule = riskRules.find(({ kind }) => kind === 'leaves_workspace')
    const outside = rule?.says(['', path])
    const overwrites = { kind: 'overwrites' as const, grave: false, text: `writes into ${path}` }
    return outside === undefined
      ? [overwrites]
      : [overwrites, { kind: 'leaves_workspace' as const, grave: rule?.grave ?? true, text: outside }]
  })

/** A shell that is given text runs that text. */
const textsForShell = ({ name, suffix }: Command): string[] => {
  if (name === undefined) return []
  const words = [name.value, ...suffix.flatMap((each) => (each.type === 'Word' ? [each.value] : []))]
  const isShell = readings(words).some((argv) => shells.has(programOf(argv) ?? ''))
  return isShell ? words.slice(1).filter((word) => /\s/.test(word)) : []
}

const readText = (source: string, depth: number, reading: Reading): void => {
  const script = parse(source)
  if ((script.errors?.length ?? 0) > 0)
    note(reading, { kind: 'unclear', grave: true, text: 'cannot be read as a shell command', part: source })
  const visit = (node: SyntaxNode): void => {
    const unseen = unseenParts[node.type]
    if (unseen !== undefined) {
      const part = source.slice(node.pos, node.end)
      note(reading, { kind: 'unclear', grave: false, text: `depends on ${unseen}, known only when it runs`, part })
    }
    if (node.type === 'Pipeline') notePipe(source, node, reading)
    if (node.type === 'Command') {
      readCommand(source, node, reading)
      for (const text of depth < deepestText ? textsForShell(node) : []) readText(text, depth + 1, reading)
    }
    forEachChild(node, visit)
  }
  visit(script)
}

/** `curl … | sh`: what runs is not in the command. */
const notePipe = (source: string, node: Extract<SyntaxNode, { type: 'Pipeline' }>, reading: Reading): void => {
  const runs = node.commands
    .slice(1)
    .some((each) => each.type === 'Command' && shells.has(programOf([each.name?.value ?? '']) ?? ''))
  const part = source.slice(node.pos, node.end)
  if (runs)
    note(reading, { kind: 'runs_unseen_code', grave: true, text: 'runs code that this command does not show', part })
}

/** Never throws. */
export const commandReport = (command: string): CommandReport => {
  const reading: Reading = { parts: [], risks: [] }
  const whole = { part: command.slice(0, 200), kind: 'unclear' as const, grave: true }
  if (command.length > maxLength) note(reading, { ...whole, text: 'is too long to be read here' })
  // oxlint-disable-next-line eslint/no-control-regex -- these are the characters in question
  if (/[^\x20-\x7e]/.test(command))
    note(reading, { ...whole, text: 'contains characters that can look like other ones, or like nothing' })
  try {
    if (command.length <= maxLength) readText(command, 0, reading)
  } catch {
    // The parser gives up on text that is nested too deeply; then nothing is known about it.
    note(reading, { ...whole, text: 'cannot be read as a shell command' })
  }
  return {
    parts: [...new Set(reading.parts)],
    risks: reading.risks.toSorted((a, b) => Number(b.grave) - Number(a.grave)),
  }
}
