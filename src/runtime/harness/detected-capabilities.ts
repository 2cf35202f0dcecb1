/**
 * Detects the capabilities of a run's CLI from its version. The program is asked once per engine and again when its file changes.
 * If it does not answer in time, the newest measured version is assumed, so that no launch waits longer.
 */
import { capabilitiesOf, cliVersionIn, type KnownCapabilities } from '../../harness/capabilities.ts'
import type { Context } from '../core/context.ts'
import { findProgram } from '../core/find-program.ts'
import type { RunContext } from '../core/run-context.ts'

/** A launch waits this long; a later answer is used by the next launch. */
const answerTimeoutMs = 5_000

type Probed = Pick<RunContext, 'context' | 'driver' | 'harness'>

/** The CLI's program. A command line of the owner's is not asked, because it might start work. */
const programOf = ({ context, driver, harness }: Probed): string | undefined => {
  if (driver.defaultProgram === null || (harness.command?.length ?? 1) !== 1) return undefined
  return findProgram(context.ports.files, harness.command?.[0] ?? driver.defaultProgram, context.environment.PATH)
}

const keyOf = ({ files }: Context['ports'], program: string): string | undefined => {
  try {
    const path = files.realpathSync(program)
    return `${path} ${files.statSync(path).mtimeMs}`
  } catch {
    return undefined // removed meanwhile, or relative to a workspace
  }
}

const askOnce = (probed: Probed): Promise<string> | undefined => {
  const { context } = probed
  const program = programOf(probed)
  const key = program === undefined ? undefined : keyOf(context.ports, program)
  if (program === undefined || key === undefined) return undefined
  const before = context.cliVersions.get(key)
  if (before !== undefined) return before
  const { programEnv: env = {} } = probed.driver
  const options = { path: context.environment.PATH, env, signal: context.stopping }
  const answer = context.ports.processes.askVersion(program, options).catch(() => '') // treated as no answer
  context.cliVersions.set(key, answer)
  return answer
}

/** Starts asking, so that the launch does not have to wait for the answer. */
export const detectEarly = (runContext: RunContext): void => void askOnce(runContext)

export interface DetectedCapabilities extends KnownCapabilities {
  /** The CLI's own answer; null = not asked, or no answer. */
  version: string | null
}

export const detectCapabilities = async (session: Probed): Promise<DetectedCapabilities> => {
  const { context, driver } = session
  const answer = askOnce(session)
  const answered = new AbortController()
  const late = (): Promise<string> => context.clock.wait(answerTimeoutMs, answered.signal).then(() => '')
  const said = answer === undefined ? '' : await Promise.race([answer, late()])
  answered.abort()
  const version = cliVersionIn(said)
  return { version: version ?? null, ...capabilitiesOf(driver, version) }
}
