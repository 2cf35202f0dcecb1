/** Plays the session that README shows and writes it as docs/images/session.svg. Usage: node scripts/record-session.ts */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { repositoryRoot } from './root.ts'
import { playSession } from './session/play.ts'
import { sessionSvg } from './session/svg.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-session-')))
try {
  const played = await playSession(folder, join(folder, 'state'))
  for (const { command, status, output } of played)
    if (status !== 0) throw new Error(`"${command}" ended with ${status}:\n${output}`)
  writeFileSync(join(repositoryRoot, 'docs/images/session.svg'), sessionSvg(played))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
