/** `unstuck init`: writes a first configuration with the harness and checks found here; never overwrites one. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exitCodes } from '../../errors.ts'
import type { Register } from '../command-options.ts'
import type { Repository } from '../../workspace/repository-types.ts'
import { printLine, type Io } from '../io.ts'

interface Found {
  harness: string | undefined
  checks: string[]
}

const inspect = async (io: Io, repository: Repository): Promise<Found> => {
  const { root } = repository
  const { loadConfig } = await import('../../config/config.ts')
  const { realFiles } = await import('../../runtime/core/files.ts')
  const { checksFor } = await import('../../runtime/checks/infer-below.ts')
  const { inferHere } = await import('../run/inferred-here.ts')
  const { defaultHarness } = await import('../../runtime/harness/harness-choice.ts')
  const config = loadConfig({ root, environment: io.environment })
  return {
    harness: defaultHarness(realFiles, config, io.environment.PATH),
    checks: checksFor(await inferHere(repository, io.environment.PATH), ['**']).commands,
  }
}

/** Leaves out what was not found: an empty list of checks would turn checks off. */
const configOf = ({ harness, checks }: Found): object => ({
  ...(harness === undefined ? {} : { harness: { default: harness } }),
  verify: { ...(checks.length === 0 ? {} : { commands: checks }), timeoutSeconds: 600 },
  maxParallel: 2,
  autoMerge: false,
})

const foundText = ({ harness, checks }: Found): string => {
  const named = harness ?? 'none found (install claude or codex, or set harness.default)'
  return `Harness: ${named}. Checks: ${checks.length === 0 ? 'none found (set verify.commands)' : checks.join(' ; ')}.`
}

const init = async (io: Io, options: { hooks?: boolean }): Promise<number> => {
  const { makeRoot, homeOf } = await import('../engine/home.ts')
  const home = await homeOf(io)
  const { repository } = home
  const { findEngine } = await import('../engine/connect.ts')
  const { refuseRuns } = await import('../person-here.ts')
  await refuseRuns(io, 'unstuck init', async () => findEngine(home))
  if (options.hooks === true) {
    const { adoptHooks } = await import('../run/adopt-hooks.ts')
    for (const text of await adoptHooks(repository, io.environment.PATH)) printLine(io, text)
    return exitCodes.ok
  }
  const path = join(repository.root, '.unstuck', 'config.json')
  if (existsSync(path)) {
    printLine(io, `${path} already exists; nothing was changed.`)
    return exitCodes.ok
  }
  makeRoot(home)
  const found = await inspect(io, repository)
  mkdirSync(join(repository.root, '.unstuck'), { recursive: true })
  writeFileSync(path, `${JSON.stringify(configOf(found), null, 2)}\n`, { flag: 'wx' })
  printLine(io, `Wrote ${path}. ${foundText(found)}`)
  if (repository.url === undefined && repository.commonDir !== null)
    printLine(io, 'Commit it with your repository: git add .unstuck/config.json && git commit -m "Configure unstuck"')
  printLine(
    io,
    'Agents read templates/instructions/<role>.md of the package (in a loop, loop/<role>.md), or your own .unstuck/instructions/<role>.md.',
  )
  printLine(io, 'All keys: docs/config.md. Next: unstuck run "<what you want done>"')
  return exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('init')
    .description('write a first .unstuck/config.json with the harness and checks found here')
    .option('--hooks', 'make what your hooks run (husky, lefthook, pre-commit, .githooks) checks of every change')
    .action((options: { hooks?: boolean }) => act((io) => init(io, options)))
}
