/** Changes of the environment that several entries share. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { FaultEnvironment } from '../faults.ts'
import { gitIn, writeFiles } from '../project.ts'

interface Address {
  identity: { pid: number }
}

/** Kills the engine of the cell with SIGKILL. Its parent restarts it. */
export const killEngine = ({ memory }: FaultEnvironment): void => {
  const home = join(memory, '..', 'unstuck')
  const path = readdirSync(home)
    .map((name) => join(home, name, 'engine.json'))
    .find((file) => existsSync(file))
  if (path === undefined) throw new Error('no engine of this cell is running')
  process.kill((JSON.parse(readFileSync(path, 'utf8')) as Address).identity.pid, 'SIGKILL')
}

export const userSubject = 'Note a thought'

/** Changes the line that the work changes, too. */
export const commitToSameLine = ({ project }: FaultEnvironment): void => {
  const path = join(project, 'src', 'slug.mjs')
  const text = readFileSync(path, 'utf8').replace('(text) => text', "(text) => text.replaceAll('\\t', ' ')")
  writeFiles(project, { 'src/slug.mjs': text })
  gitIn(project, 'add', 'src/slug.mjs')
  gitIn(project, 'commit', '-q', '-m', userSubject)
}

interface Scripts {
  scripts: Record<string, string>
  files?: Record<string, string>
}

/** Other package scripts, and the files that they need. */
export const withScripts =
  ({ scripts, files = {} }: Scripts) =>
  ({ project }: FaultEnvironment): void => {
    const path = join(project, 'package.json')
    const manifest = JSON.parse(readFileSync(path, 'utf8')) as { scripts: object }
    const changed = { ...manifest, scripts: { ...manifest.scripts, ...scripts } }
    writeFiles(project, { 'package.json': `${JSON.stringify(changed, null, 2)}\n`, ...files })
  }

/** Writes a report beside its work, as coverage tools do. The report is not ignored by git. */
export const coverScript = `import { mkdirSync, writeFileSync } from 'node:fs'

mkdirSync('coverage', { recursive: true })
writeFileSync('coverage/lcov.info', 'TN:\\nSF:src/slug.mjs\\nend_of_record\\n')
`
