#!/usr/bin/env node
// The one entry point. Plain JavaScript that an old Node can parse, so that it can be refused by name
// instead of failing on a syntax error further in.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 12)) {
  process.stderr.write(
    `unstuck: this is Node ${process.versions.node} (${process.execPath}); Unstuck needs Node 24.12 or newer.\n` +
      'In a checkout run it as ./unstuck after "npm ci"; elsewhere install a newer Node and try again.\n',
  )
  process.exit(78)
}
const built = new URL('../dist/src/cli/main.js', import.meta.url)
const source = new URL('../src/cli/main.ts', import.meta.url)
if (existsSync(source)) {
  // A checkout runs unbuilt; without the cache every start would strip the types of every file again.
  const { enableCompileCache } = await import('node:module')
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/unstuck', import.meta.url)))
}
await import((existsSync(source) ? source : built).href)
