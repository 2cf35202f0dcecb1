/**
 * The user's command as `unstuck exec` launches it: which harness it is, what its own line restricts, and the line of each
 * launch. What a CLI's options mean is stated by its driver (`userCommand`); nothing here depends on which CLI it is.
 */
import { basename, resolve, sep } from 'node:path'
import { AppError } from '../errors.ts'
import type { Driver } from '../harness/driver.ts'
import { driverNamed, drivers } from '../harness/drivers.ts'
import type { LineChange, Restriction, UserCommand } from '../harness/user-command.ts'

export interface ChangedLine {
  argv: string[]
  /** Added to the user's environment, which wins where both set a variable. */
  env: Record<string, string>
  /** False = the whole task is given again, to a session of its own. */
  resumed: boolean
}

/** A driver whose command line can be supervised. */
export type ExecDriver = Driver & { userCommand: UserCommand }

const isExecDriver = (driver: Driver): driver is ExecDriver => driver.userCommand !== undefined

const execDrivers = Object.values(drivers).filter(isExecDriver)

export interface AgentCommand {
  driver: ExecDriver
  argv: readonly string[]
  /** Which corrections the line leaves open. */
  restriction(environment: Record<string, string | undefined>): Restriction
  /** Absolute paths of the directories that the line opens already. */
  givenDirectories(cwd: string): string[]
  line(change: LineChange, cwd?: string): ChangedLine
}

/** `wanted`: a harness's name, or `auto` to choose by the program's name. */
const driverFor = (program: string, wanted: string): ExecDriver => {
  const word = basename(program)
  const name =
    wanted === 'auto'
      ? (execDrivers.find(({ defaultProgram }) => defaultProgram === word)?.name ?? drivers.command.name)
      : wanted
  const driver = driverNamed(name)
  if (driver !== undefined && isExecDriver(driver)) return driver
  const names = execDrivers.map((one) => one.name).join(', ')
  throw new AppError('USAGE', `--harness ${JSON.stringify(wanted)} is unknown; give auto, ${names}`)
}

/** Directories that no directory of the line covers. */
const notGiven = (dirs: readonly string[], given: readonly string[]): string[] =>
  dirs.filter((dir) => !given.some((root) => dir === root || dir.startsWith(root.endsWith(sep) ? root : root + sep)))

/** Throws USAGE for an unknown harness, and for an interactive command line, which would wait for a person at a terminal. */
export const agentCommand = (argv: readonly string[], wanted: string): AgentCommand => {
  const [program = '', ...args] = argv
  const driver = driverFor(program, wanted)
  const { userCommand } = driver
  if (!userCommand.isHeadless(args))
    throw new AppError(
      'USAGE',
      `"${program}" without its headless option waits for a person at a terminal; give the headless form: unstuck exec -- ${userCommand.form}`,
    )
  const given = (cwd: string): string[] => (userCommand.directories?.(args) ?? []).map((dir) => resolve(cwd, dir))
  return {
    driver,
    argv,
    restriction: (environment) => userCommand.restriction(args, environment),
    givenDirectories: given,
    line: ({ corrections, ...change }, cwd = process.cwd()) => {
      const addDirs = notGiven(corrections.addDirs, given(cwd))
      const { args: changed, ...rest } = userCommand.line(args, { ...change, corrections: { ...corrections, addDirs } })
      return { argv: [program, ...changed], ...rest }
    },
  }
}
