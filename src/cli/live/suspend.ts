/** Suspension by Ctrl-Z: the terminal is given to the shell as it was found, and taken up again afterwards. */

/** Calls `leave` before this process stops and `enter` when it is continued, until the function that is given back is called. */
export const onSuspend = ({ leave, enter }: { leave: () => void; enter: () => void }): (() => void) => {
  const stop = (): void => {
    leave()
    // `once` has removed this handler, so the signal does now what it does without one.
    process.kill(process.pid, 'SIGTSTP')
  }
  const go = (): void => {
    process.off('SIGTSTP', stop)
    process.once('SIGTSTP', stop)
    enter()
  }
  process.once('SIGTSTP', stop)
  process.on('SIGCONT', go)
  return () => {
    process.off('SIGTSTP', stop)
    process.off('SIGCONT', go)
  }
}
