/** An engine that starts again when it is told to. Its agents keep running meanwhile, and the next engine re-attaches to them. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Io } from '../../src/cli/io.ts'

const start = ({ self: [program = '', ...first], cwd, environment, error, signal }: Io): ChildProcess => {
  const child = spawn(program, [...first, 'engine'], { cwd, env: environment, stdio: ['ignore', 'inherit', 'inherit'] })
  child.once('exit', (code, endedBy) => {
    // 0 = it was told to stop.
    if (code !== 0 && !signal.aborted)
      error(`the engine ended ${code === null ? `by ${endedBy}` : `with status ${code}`}\n`)
  })
  return child
}

const stop = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

export interface RestartingEngine {
  /** The first engine has ended. */
  firstEnded: Promise<unknown>
  restart(): Promise<void>
  stop(): Promise<void>
}

export const startRestarting = (io: Io): RestartingEngine => {
  let child = start(io)
  const firstEnded = once(child, 'exit')
  /** One restart at a time; requests that come meanwhile are one more. */
  let busy: Promise<void> = Promise.resolve()
  let isWanted = false
  const restart = (): Promise<void> => {
    if (isWanted) return busy
    isWanted = true
    busy = busy.then(async () => {
      await stop(child)
      isWanted = false
      if (!io.signal.aborted) child = start(io)
    })
    return busy
  }
  return {
    ...{ firstEnded, restart },
    stop: async () => {
      await busy
      await stop(child)
    },
  }
}
