/** Opens the owner's settings for an engine: from which files, which agents could have changed them, and where those in use are kept. */
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import { readRegularTextSync } from '../platform/regular-file.ts'
import { givenKeys, loadConfig, type Config } from '../config/config.ts'
import { loadPlaybook, playbookNames } from '../config/playbook-files.ts'
import { loadPolicyRecovery } from '../config/policy-recovery-file.ts'
import { systemClock } from '../runtime/core/system-clock.ts'
import { redactText } from '../process/redact.ts'
import { contractFile, parseContract } from '../runtime/checks/verify-contract.ts'
import { realFiles } from '../runtime/core/files.ts'
import { canStartHarness } from '../runtime/harness/harness-choice.ts'
import { couldWrite } from '../runtime/engine/could-write.ts'
import { frozenKeys } from '../runtime/engine/frozen-keys.ts'
import { withValue } from '../runtime/engine/owner-files.ts'
import { openOwnerSettings, type OwnerSettings, type SettingsParts } from '../runtime/engine/owner-settings.ts'
import { configPlace } from '../store/config-state.ts'
import type { Db } from '../store/db.ts'
import { valueAt } from '../validation.ts'

interface Place {
  db: Db
  stateDir: string
  root: string
  environment: Record<string, string | undefined>
  flags: Record<string, unknown>
}

const textOf = (path: string): string | undefined => {
  try {
    return readRegularTextSync(path)
  } catch {
    return undefined // none was kept yet; the files themselves count
  }
}

/** One file per digest, so that a text that was never committed replaces nothing. */
export const settingsKeptIn = (folder: string): SettingsParts['kept'] => {
  const pathOf = (digest: string): string => join(folder, `${digest}.json`)
  return {
    read: (digest: string) => textOf(pathOf(digest)),
    write: (digest: string, text: string) => {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      writeFileSync(`${pathOf(digest)}.new`, text, { mode: 0o600 })
      renameSync(`${pathOf(digest)}.new`, pathOf(digest))
    },
    prune: (digest: string) => {
      const others = readdirSync(folder).filter((name) => name !== basename(pathOf(digest)))
      for (const name of others) rmSync(join(folder, name), { force: true })
    },
  }
}

export const settingsOf = ({ db, stateDir, root, environment, flags }: Place): Promise<OwnerSettings> => {
  const host = hostname()
  const canStart = (inUse: Config, name: string): boolean => canStartHarness(realFiles, inUse, name, environment.PATH)
  return openOwnerSettings({
    files: {
      config: (readFile) => loadConfig({ root, environment, flags, readFile }),
      policy: (readFile) => loadPolicyRecovery({ root, environment, readFile }),
      contract: (readFile) => {
        const path = join(root, contractFile)
        const text = readFile(path)
        return text === undefined ? undefined : parseContract(path, text)
      },
      playbooks: {
        names: () => playbookNames(root),
        one: (name, readFile) => loadPlaybook(root, name, readFile),
      },
    },
    db,
    place: configPlace({ host, stateDir }),
    kept: settingsKeptIn(join(stateDir, 'settings')),
    couldWrite: (store, since) => couldWrite(store, host, since),
    frozenKeys: (store, inUse) => frozenKeys(store, { host, canStart }, inUse),
    redact: (text) => redactText(text, environment),
    now: () => systemClock.elapsed(),
    given: (kept, now) =>
      givenKeys({ environment, flags }).reduce<Config>((settings, key) => {
        const path = key.split('.')
        return withValue(settings, path, valueAt(now, path)) as Config
      }, kept),
  })
}
