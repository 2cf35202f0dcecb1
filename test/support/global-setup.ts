/**
 * Runs once before any test of a project that needs a store. Refuses an old Node by name, because the suites would fail in ways that
 * do not say so, and starts the one database server that all files share, with the template of their databases (test-db.ts).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startScratchServer } from '../../scripts/scratch-server.ts'
import { makeTemplate, type SharedServer } from './test-db.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    server: SharedServer
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major < 24 || (major === 24 && minor < 12)) {
    throw new Error(
      `tests need Node 24.12 or newer, this is ${process.versions.node}; run them with "npm test" after "npm ci"`,
    )
  }
  const { url, home, clear } = await startScratchServer()
  await makeTemplate(url)
  project.provide('server', { url, home })
  // Workers are ended without a word, so what they would remove at their exit stays.
  const templates = mkdtempSync(join(tmpdir(), 'unstuck-templates-'))
  process.env.UNSTUCK_TEST_TEMPLATES = templates
  return async () => {
    rmSync(templates, { recursive: true, force: true })
    await clear()
  }
}
