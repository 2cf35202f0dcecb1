/** The process of the command line: what it is given by the system is passed to the program, and its status is the exit status. */
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, isAbsolute } from 'node:path'
import { shippedPath } from '../platform/shipped-path.ts'
import { createIo } from './io.ts'
import { runCommandLine } from './run-command-line.ts'

const readVersion = (): string => {
  const path = shippedPath(existsSync, 'package.json')
  return path === undefined ? 'unknown' : (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
}

/** Drops entries such as `./node_modules/.bin`: in a workspace they would mean a folder that an agent can write to. */
const dropRelativeFolders = (): void => {
  const folders = (process.env.PATH ?? '').split(delimiter)
  process.env.PATH = folders.filter((folder) => isAbsolute(folder)).join(delimiter)
}

const main = (): Promise<number> => {
  dropRelativeFolders()
  const argv = process.argv.slice(2)
  const end = argv.indexOf('--')
  const io = createIo(readVersion(), process.env, argv.slice(0, end < 0 ? argv.length : end).includes('--json'))
  return runCommandLine(argv, io, (status) => process.exit(status))
}

process.exitCode = await main()
