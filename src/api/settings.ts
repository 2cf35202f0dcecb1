/** Opens the owner's settings for an engine: from which files, which agents could have changed them, and where those in use are kept. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { givenKeys, loadConfig, type Config } from '../config.ts'
import type { Run } from '../domain/run.ts'
import { loadPolicyRecovery } from '../policy-recovery-file.ts'
import { redactText } from '../process/redact.ts'
import { readContract } from '../runtime/checks/verify-contract.ts'
import { realFiles } from '../runtime/core/files.ts'
import { openOwnerSettings, type OwnerSettings } from '../runtime/engine/owner-settings.ts'
import { harnessNamed } from '../runtime/harness/harness-choice.ts'
import type { Db, Queryable } from '../store/db.ts'
import { listEngines } from '../store/engine.ts'
import { getGoal } from '../store/goal.ts'
import { listRuns } from '../store/run.ts'

interface Place {
  db: Db
  stateDir: string
  root: string
  environment: Record<string, string | undefined>
  flags: Record<string, unknown>
}

/** The name of an agent is that of its engine with a number. */
const runsHere = async (db: Queryable): Promise<Run[]> => {
  const here = (await listEngines(db)).filter(({ host }) => host === hostname()).map(({ id }) => id)
  const running = await listRuns(db, { state: 'running' })
  return running.filter(({ agentId }) => here.includes(agentId.replace(/-\d+$/, '')))
}

/** In the owner's own folder a sandbox that allows writing there is none for these files. */
const isSandboxed = async (db: Queryable, config: Config, run: Run): Promise<boolean> => {
  const goal = await getGoal(db, run.goalId)
  const { harness, driver } = harnessNamed(config, run.harness)
  // We do not know what an unmeasured version can do, so it counts as sandboxed only if every measured version is.
  const confined = driver.measured.every(({ capabilities }) => capabilities.commands === 'sandbox')
  return confined && harness.unrestricted !== true && goal?.repoMode !== 'direct'
}

const couldWrite = async (db: Queryable, config: Config): Promise<boolean> => {
  for (const run of await runsHere(db)) if (!(await isSandboxed(db, config, run))) return true
  return false
}

const textOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined // none was kept yet; the files themselves count
  }
}

const withValue = (target: Record<string, unknown>, [key = '', ...rest]: string[], value: unknown): object =>
  rest.length === 0
    ? { ...target, [key]: value }
    : { ...target, [key]: withValue((target[key] ?? {}) as Record<string, unknown>, rest, value) }

const valueAtPath = (from: unknown, path: string[]): unknown =>
  path.reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], from)

const keptAt = (path: string) => ({
  read: () => textOf(path),
  write: (text: string) => {
    writeFileSync(`${path}.new`, text, { mode: 0o600 })
    renameSync(`${path}.new`, path)
  },
})

export const settingsOf = ({ db, stateDir, root, environment, flags }: Place): Promise<OwnerSettings> => {
  const config = (): Config => loadConfig({ root, environment, flags })
  const opened: Promise<OwnerSettings> = openOwnerSettings({
    files: {
      config,
      policy: () => loadPolicyRecovery({ root, environment }),
      contract: () => readContract(realFiles, root),
    },
    db,
    place: `${hostname()}:${root}`,
    kept: keptAt(join(stateDir, 'settings.json')),
    couldWrite: async (store) => couldWrite(store, (await opened).config()),
    inUse: async (store) => (await runsHere(store)).map(({ harness }) => harness),
    redact: (text) => redactText(text, environment),
    given: (kept, now) =>
      givenKeys({ environment, flags }).reduce<Config>((settings, key) => {
        const path = key.split('.')
        return withValue(settings, path, valueAtPath(now, path)) as Config
      }, kept),
  })
  return opened
}
