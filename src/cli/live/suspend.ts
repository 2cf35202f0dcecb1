/** Suspension by Ctrl-Z: hands the terminal back to the shell in its original mode, and takes it again afterwards. */

/** Calls `leave` before this process is suspended and `enter` after it is resumed. Returns a function that ends this. */
export const onSuspend = ({ leave, enter }: { leave: () => void; enter: () => void }): (() => void) => {
  const stop = (): void => {
    leave()
    // `once` has removed this handler, so the signal now suspends the process as usual.
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
