/** One server for all files of the suite; each makes a database of its own on it. */
import type { TestProject } from 'vitest/node'
import { startServer } from './server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where the server of the simulation listens. */
    simulationSocket: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startServer()
  project.provide('simulationSocket', server.socket)
  return () => server.clear()
}
