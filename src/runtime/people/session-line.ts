/** The command line with which a person resumes the agent's session in its folder; only `cd` where its CLI cannot resume. Pure. */
import type { Config } from '../../config/config.ts'
import type { Run } from '../../domain/run.ts'
import { shellQuoted } from '../../recovery/command/replacement.ts'
import { harnessNamed } from '../harness/harness-choice.ts'

const openSession = (config: Config, last: Pick<Run, 'harness' | 'sessionId'> | undefined): string[] => {
  if (last === undefined || last.sessionId === null) return []
  const { driver, harness } = harnessNamed(config, last.harness)
  const program = harness.command ?? (driver.defaultProgram === null ? undefined : [driver.defaultProgram])
  return driver.openSession === undefined || program === undefined
    ? []
    : [...program, ...driver.openSession(last.sessionId)]
}

export const openSessionLine = (
  config: Config,
  folder: string,
  last: Pick<Run, 'harness' | 'sessionId'> | undefined,
): string => {
  const words = openSession(config, last)
  const cd = `cd ${shellQuoted(folder)}`
  return words.length === 0 ? cd : `${cd} && ${words.map(shellQuoted).join(' ')}`
}
