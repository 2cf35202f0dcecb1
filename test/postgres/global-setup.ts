/** One server for all files of the suite: starting it costs more than most of them. Each file makes a database of its own on it. */
import type { TestProject } from 'vitest/node'
import { startServer } from './server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Of the server that the files share; holds the password. */
    postgresUrl: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startServer()
  project.provide('postgresUrl', server.url)
  return () => server.clear()
}
