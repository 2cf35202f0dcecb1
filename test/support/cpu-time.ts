/** What work costs by this thread's processor time: elapsed time would measure what else the machine does as well. */
export const cpuMsOf = (work: () => void): number => {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
