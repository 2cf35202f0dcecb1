/**
 * Runs once before any test. Refuses an old Node by name, because the suites would fail in ways that do not say so, and
 * builds the store's template once: initdb costs seconds of CPU, a boot from the template one, a boot from a copied folder
 * (store-folder.ts) half of that. Test files get the folder by `inject('storeCache')`; its name carries the migrations' hash, so that a
 * changed migration never meets an old template.
 */
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { loadTemplate, templateName } from '../../src/store/template.ts'
import { makeStoreFolder } from './store-folder.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    storeCache: string
  }
}

export default async function setup(project: TestProject): Promise<void> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major < 24 || (major === 24 && minor < 12)) {
    throw new Error(
      `tests need Node 24.12 or newer, this is ${process.versions.node}; run them with "npm test" after "npm ci"`,
    )
  }
  // One folder per user: a normal user cannot write into a folder that root's test run made.
  const cache = join(tmpdir(), `unstuck-${userInfo().uid}-${templateName().replace('.tar.gz', '')}`)
  await loadTemplate(cache)
  await makeStoreFolder(cache)
  project.provide('storeCache', cache)
}
