/**
 * Generates docs/, schema/ and src/store/schema.sql from the tables of the code. With `--check` it writes nothing, names
 * the files that differ and exits with 1.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { taskFileSchema } from '../src/runtime/goal/goal-input.ts'
import { ownPlaybookJsonSchema } from '../src/recovery/own/own-playbook.ts'
import { proposalJsonSchema } from '../src/recovery/proposal/proposal.ts'
import { policyRecoveryJsonSchema } from '../src/recovery/policy/recovery-policy.ts'
import { verifyContractSchema } from '../src/runtime/checks/verify-contract.ts'
import type { Db } from '../src/store/db.ts'
import { declaredProgram } from '../src/cli/run-command-line.ts'
import { apiPage } from './api-page.ts'
import { commandsPage } from './commands-page.ts'
import { harnessesPage } from './harnesses-page.ts'
import { configPage, errorsPage, eventsPage, statesPage } from './pages.ts'
import { recoveryPage } from './recovery-page.ts'
import { repositoryRoot } from './root.ts'
import { schemaText } from './schema-sql.ts'
import { withScratchStore } from './scratch-server.ts'

/** Returns path and content of every generated file. `db` is a migrated, empty store. */
export const documents = async (db: Db): Promise<Map<string, string>> =>
  new Map([
    ['docs/states.md', statesPage()],
    ['docs/commands.md', commandsPage(await declaredProgram(''))],
    ['docs/config.md', configPage()],
    ['docs/errors.md', errorsPage()],
    ['docs/events.md', eventsPage()],
    ['docs/recovery.md', recoveryPage()],
    ['docs/api.md', apiPage()],
    ['docs/harnesses.md', harnessesPage()],
    ['schema/tasks.schema.json', `${JSON.stringify(taskFileSchema(), null, 2)}\n`],
    ['schema/policy-recovery.schema.json', `${JSON.stringify(policyRecoveryJsonSchema(), null, 2)}\n`],
    ['schema/recovery.schema.json', `${JSON.stringify(proposalJsonSchema(), null, 2)}\n`],
    ['schema/playbook.schema.json', `${JSON.stringify(ownPlaybookJsonSchema(), null, 2)}\n`],
    ['schema/verify.contract.schema.json', `${JSON.stringify(verifyContractSchema(), null, 2)}\n`],
    ['src/store/schema.sql', await schemaText(db)],
  ])

const readOrEmpty = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // a missing file differs from every content
  }
}

/** Returns the paths of generated files whose content on disk differs. */
export const outdated = (root: string, files: ReadonlyMap<string, string>): string[] =>
  [...files].filter(([path, content]) => readOrEmpty(join(root, path)) !== content).map(([path]) => path)

const write = (root: string, path: string, content: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), content)
}

/** Writes or checks the files below `root` and returns the exit code. */
export const generate = async (root: string, args: readonly string[]): Promise<number> => {
  const files = await withScratchStore(documents)
  const changed = outdated(root, files)
  if (args.includes('--check')) {
    for (const path of changed) console.error(`${path} is out of date. Run "npm run generate" and commit the result.`)
    return changed.length === 0 ? 0 : 1
  }
  for (const path of changed) {
    write(root, path, files.get(path) ?? '')
    console.log(`wrote ${path}`)
  }
  return 0
}

if (import.meta.main) process.exitCode = await generate(repositoryRoot, process.argv.slice(2))
