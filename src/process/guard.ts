/**
 * Cleans up when this process is killed: after SIGKILL it cannot end its agent itself. The guard is a shell that reads from a
 * pipe of this process, which costs almost nothing; when the pipe closes without a word, the shell executes `end-orphans.ts`.
 * It has a session of its own, so that a signal to our terminal or group does not end the guard first.
 */
import { spawn } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startTimeOf } from '../platform/process.ts'

export interface Guard {
  /** Gives the guard the program's pid, so that it also finds the program's group and session. */
  owns(leader: number | undefined): void
  /** Ends the guard: no process of the launch is left. */
  release(): void
}

const endOrphans = fileURLToPath(new URL(`./end-orphans${extname(import.meta.url)}`, import.meta.url))

const script = 'leader=; read -r leader; read -r word && exit 0; exec "$0" "$1" "$2" "$3" $leader'

/** Call before the program starts; otherwise a kill in between would leave the program behind. */
export const startGuard = (marker: string, mark: string): Guard => {
  const child = spawn('/bin/sh', ['-c', script, process.execPath, endOrphans, marker, mark], {
    ...{ cwd: '/', detached: true, env: {} },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // Where no shell can be started, or the guard was killed, the program still runs, only without a guard.
  child.on('error', () => {})
  const pipe = child.stdin
  pipe?.on('error', () => {})
  child.unref()
  return {
    owns: (leader) => void pipe?.write(leader === undefined ? '\n' : `${leader} ${startTimeOf(leader) ?? ''}\n`),
    release: () => void pipe?.end('over\n'),
  }
}
