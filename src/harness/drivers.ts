/** The driver of each name in `names.ts`. A name from a configuration file or a command line is resolved here only. */
import { acp } from './acp.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { command } from './command.ts'
import type { Driver } from './driver.ts'
import { gemini } from './gemini.ts'
import type { DriverName } from './names.ts'
import { opencode } from './opencode.ts'

export const drivers: { readonly [name in DriverName]: Driver } = { claude, codex, gemini, opencode, acp, command }

/** Undefined when no driver has this name. */
export const driverNamed = (name: string): Driver | undefined => Object.values(drivers).find((one) => one.name === name)

/** The environment variables from which any of these CLIs reads its credentials. */
export const loginVariables: readonly string[] = [
  ...new Set(Object.values(drivers).flatMap(({ login }) => login?.variables ?? [])),
].sort()
