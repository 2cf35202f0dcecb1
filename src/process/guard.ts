/**
 * A guard against our own death: whoever is killed with SIGKILL ends nothing any more. It is a shell that waits at a pipe of
 * ours, which costs next to nothing; when the pipe ends without our word, it becomes `end-orphans.ts`. In a session of
 * its own, so that what ends our terminal or our group does not end it first.
 */
import { spawn } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startTimeOf } from '../platform/process.ts'

export interface Guard {
  /** Names the program, so that its group and session are found as well. */
  owns(leader: number | undefined): void
  /** Nothing of the launch is left. */
  release(): void
}

const endOrphans = fileURLToPath(new URL(`./end-orphans${extname(import.meta.url)}`, import.meta.url))

const script = 'leader=; read -r leader; read -r word && exit 0; exec "$0" "$1" "$2" "$3" $leader'

/** Started before the program, so that there is no moment in which nobody would end it. */
export const startGuard = (marker: string, mark: string): Guard => {
  const child = spawn('/bin/sh', ['-c', script, process.execPath, endOrphans, marker, mark], {
    ...{ cwd: '/', detached: true, env: {} },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // Without a shell there is no guard, and with a guard that was killed nobody to tell: the program goes on all the same.
  child.on('error', () => {})
  const pipe = child.stdin
  pipe?.on('error', () => {})
  child.unref()
  return {
    owns: (leader) => void pipe?.write(leader === undefined ? '\n' : `${leader} ${startTimeOf(leader) ?? ''}\n`),
    release: () => void pipe?.end('over\n'),
  }
}
