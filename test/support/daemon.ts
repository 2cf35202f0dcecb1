/**
 * The engine as `unstuck engine` builds it, with one difference: it kills itself with SIGKILL at the n-th pass of a named
 * crash point, or stops itself where CHAOS_SIGNAL is SIGSTOP. The shipped CLI has no such door. Passes count only while the file CHAOS_ARM exists (where it is set), and
 * what killed it is written to CHAOS_MARK first, so that a test can tell this death from any other.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { serve } from '../../src/api/serve.ts'
import { engineRoles } from '../../src/domain/engine.ts'
import type { CrashPoint } from '../../src/runtime/core/context.ts'

const { CHAOS_POINT, CHAOS_PASS, CHAOS_MARK, CHAOS_ARM, CHAOS_SIGNAL, DAEMON_ROLES = '', ...environment } = process.env

let left = Number(CHAOS_PASS ?? '1')

const at = (point: CrashPoint): void => {
  if (point !== CHAOS_POINT || (CHAOS_ARM !== undefined && !existsSync(CHAOS_ARM))) return
  left -= 1
  if (left !== 0) return
  if (CHAOS_MARK !== undefined) writeFileSync(CHAOS_MARK, point)
  process.kill(process.pid, CHAOS_SIGNAL === 'SIGSTOP' ? CHAOS_SIGNAL : 'SIGKILL')
}

/** Comma-separated; empty = the product's. */
const roles = DAEMON_ROLES === '' ? {} : { roles: engineRoles.filter((role) => DAEMON_ROLES.split(',').includes(role)) }

const served = await serve({ root: process.cwd(), environment, version: '0.0.0-chaos', at, ...roles })
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void served.stop())
await served.stopped
