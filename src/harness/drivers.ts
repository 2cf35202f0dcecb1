/** The drivers by name. A name from a configuration file is looked up here and nowhere else. */
import { acp } from './acp.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { command } from './command.ts'
import type { Driver } from './driver.ts'
import { gemini } from './gemini.ts'
import { opencode } from './opencode.ts'

const drivers: readonly Driver[] = [claude, codex, gemini, opencode, acp, command]

export const driverNames: readonly Driver['name'][] = drivers.map((driver) => driver.name)

export const driverNamed = (name: string): Driver | undefined => drivers.find((driver) => driver.name === name)
