/** The engine of a scene as a process of its own, which ends by SIGKILL alone. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import type { SceneOptions } from '../recovery/scene.ts'

export const killable = (children: ChildProcess[]): NonNullable<SceneOptions['start']> => {
  const daemon = fileURLToPath(new URL('daemon.ts', import.meta.url))
  return async (root, given) => {
    const child = spawn(process.execPath, [daemon], { cwd: root, env: given, stdio: 'inherit' })
    children.push(child)
    const stopped = once(child, 'exit').then(() => undefined)
    const address = join(stateDirOf(given, (await openRepository(root)).id), 'engine.json')
    for (const deadline = performance.now() + 60_000; ;) {
      const text = existsSync(address) ? readFileSync(address, 'utf8') : '{}'
      const { url, socket, identity } = JSON.parse(text) as {
        url?: string
        socket?: string
        identity?: { pid: number }
      }
      if (url !== undefined && identity?.pid === child.pid)
        return { url, socket, stopped, stop: () => (child.kill('SIGKILL'), stopped) }
      if (child.exitCode !== null || performance.now() > deadline) throw new Error('the engine did not start')
      await delay(20)
    }
  }
}
