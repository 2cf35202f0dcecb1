interface Job {
  done: Promise<void>
  again: boolean
}

const jobs = new Map<string, Job>()

/** Only one job per key runs: a call during a job waits for another pass that starts afterwards. */
export const oneJob = (key: string, work: () => Promise<void>): Promise<void> => {
  const running = jobs.get(key)
  if (running !== undefined) {
    running.again = true
    return running.done
  }
  const job: Job = { done: Promise.resolve(), again: true }
  const run = async (): Promise<void> => {
    try {
      while (job.again) {
        job.again = false
        await work()
      }
    } finally {
      jobs.delete(key)
    }
  }
  jobs.set(key, job)
  job.done = run()
  return job.done
}
