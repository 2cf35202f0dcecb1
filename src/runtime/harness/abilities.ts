/**
 * What the CLI of a run can do, by its version: learnt by asking the program, once in an engine's life and again when the
 * file changes. A program that does not answer in time is taken for the newest that was measured, and no launch waits longer.
 */
import { capabilitiesOf, versionIn, type Known } from '../../harness/capabilities.ts'
import type { Context } from '../core/context.ts'
import { findProgram } from './program.ts'
import type { Session } from '../core/session.ts'

/** A launch waits this long; an answer that comes later serves the next one. */
const patienceMs = 5_000

type Asked = Pick<Session, 'context' | 'driver' | 'harness'>

/** The CLI itself; a command line of the owner's would be started for its work. */
const programOf = ({ context, driver, harness }: Asked): string | undefined => {
  if (driver.defaultProgram === null || (harness.command?.length ?? 1) !== 1) return undefined
  return findProgram(context.ports.files, harness.command?.[0] ?? driver.defaultProgram, context.environment.PATH)
}

const keyOf = ({ files }: Context['ports'], program: string): string | undefined => {
  try {
    const path = files.realpathSync(program)
    return `${path} ${files.statSync(path).mtimeMs}`
  } catch {
    return undefined // it went away meanwhile, or is named relative to a workspace
  }
}

const ask = (asked: Asked): Promise<string> | undefined => {
  const { context } = asked
  const program = programOf(asked)
  const key = program === undefined ? undefined : keyOf(context.ports, program)
  if (program === undefined || key === undefined) return undefined
  const before = context.cliVersions.get(key)
  if (before !== undefined) return before
  const { programEnv: env = {} } = asked.driver
  const options = { path: context.environment.PATH, env, signal: context.stopping }
  const answer = context.ports.processes.askVersion(program, options).catch(() => '') // as one that says nothing
  context.cliVersions.set(key, answer)
  return answer
}

/** Begins to ask, so that a launch need not wait for the answer. */
export const askEarly = (session: Session): void => void ask(session)

export interface Abilities extends Known {
  /** As the CLI says; null = it was not asked or did not answer. */
  version: string | null
}

export const abilitiesOf = async (session: Asked): Promise<Abilities> => {
  const { context, driver } = session
  const answer = ask(session)
  const answered = new AbortController()
  const late = (): Promise<string> => context.clock.wait(patienceMs, answered.signal).then(() => '')
  const said = answer === undefined ? '' : await Promise.race([answer, late()])
  answered.abort()
  const version = versionIn(said)
  return { version: version ?? null, ...capabilitiesOf(driver, version) }
}
