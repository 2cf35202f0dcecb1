/**
 * `npm run dev [-- <repository>]`: an engine that restarts when its sources change, and the dashboard with hot reload. Without a path it
 * works on a scratch repository with scripted agents. Its UNSTUCK_HOME is a temporary folder, which it removes at Ctrl-C.
 */
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { LoginUrl } from '../src/api/contract.ts'
import { printLine, type Io } from '../src/cli/io.ts'
import { exitCodes } from '../src/errors.ts'
import { startRestarting } from './play/restarting-engine.ts'
import { serveDashboard } from './play/serve-dashboard.ts'
import { startGoal, untilReady } from './play/start-goal.ts'
import { ioIn, scriptIo, withScratch, type Scratch } from './play/stage.ts'
import { repositoryRoot } from './root.ts'

/** An editor that saves several files restarts the engine once. */
const settleMs = 100

/** Calls `changed` when the engine's own sources have changed. */
const watchSources = (watcher: { add(path: string): void; on(name: 'all', seen: Seen): void }, changed: () => void) => {
  const sources = join(repositoryRoot, 'src')
  let timer: NodeJS.Timeout | undefined
  watcher.add(sources)
  watcher.on('all', (_event, path) => {
    if (!path.startsWith(sources) || !path.endsWith('.ts') || path.endsWith('.test.ts')) return
    clearTimeout(timer)
    timer = setTimeout(changed, settleMs)
  })
}
type Seen = (event: string, path: string) => void

const serveUntilStopped = async (io: Io, scratch: Scratch, isOwn: boolean): Promise<void> => {
  const engine = startRestarting(io)
  try {
    const failed = new AbortController()
    void engine.firstEnded.then(() => failed.abort())
    const client = await untilReady({ ...io, signal: AbortSignal.any([io.signal, failed.signal]) })
    if (client === undefined) {
      if (!io.signal.aborted) process.exitCode = exitCodes.failed // the engine has said why
      return
    }
    const login = new URL((await client.post<LoginUrl>('/login-codes')).url)
    const { server, url } = await serveDashboard(login)
    try {
      watchSources(server.watcher, () => {
        if (io.signal.aborted) return
        printLine(io, 'The sources of the engine changed: it restarts.')
        void engine.restart()
      })
      url.hash = login.hash
      printLine(io, `Open the dashboard (the address works once, within ten minutes): ${url.href}`)
      if (!isOwn) await startGoal(io, scratch)
      if (!io.signal.aborted) await once(io.signal, 'abort')
    } finally {
      await server.close()
    }
  } finally {
    await engine.stop()
  }
}

const { positionals } = parseArgs({ allowPositionals: true })
const own = positionals[0] === undefined ? undefined : resolve(positionals[0])
const io = scriptIo()
await withScratch(io, { prefix: 'unstuck-dev-', repository: own }, async (scratch) => {
  printLine(io, `Repository: ${scratch.repository} (UNSTUCK_HOME=${scratch.environment.UNSTUCK_HOME})`)
  printLine(io, 'Ctrl-C ends everything and removes the state.')
  await serveUntilStopped(ioIn(io, scratch), scratch, own !== undefined)
})
