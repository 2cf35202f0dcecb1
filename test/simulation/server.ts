/** The PostgreSQL server of a simulation: that of the tests, which asks for no password and counts nothing. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startScratchServer } from '../../scripts/scratch-server.ts'

export interface SimulationServer {
  /** Where it listens. */
  socket: string
  clear(): Promise<void>
}

export const user = 'unstuck'

/** A seed begins with empty tables, which the planner is to take for small ones from its first statement to the last. */
const settings = { track_activities: 'off', track_counts: 'off', log_min_messages: 'log' }

export const startServer = async (): Promise<SimulationServer> => {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-simulation-'))
  const rules = join(folder, 'pg_hba.conf')
  writeFileSync(rules, 'local all all trust\n', { mode: 0o644 })
  chmodSync(folder, 0o755) // the server may run as another user
  const scratch = await startScratchServer({ ...settings, hba_file: rules })
  return {
    socket: join(new URL(scratch.url).searchParams.get('host') ?? '', '.s.PGSQL.5432'),
    clear: async () => {
      await scratch.clear()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
