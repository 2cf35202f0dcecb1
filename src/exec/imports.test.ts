/** `unstuck exec` works where there is no project: nothing that it loads, however indirectly, may reach the store or git. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const source = fileURLToPath(new URL('..', import.meta.url))

/** `import … from './x.ts'`, `import './x.ts'`, `export … from`, and `import('./x.ts')`; imports of types load nothing. */
const imports = /^(?:import|export) (?!type )(?:[^;']*?from )?'(\.[^']+)'|import\('(\.[^']+)'\)/gm

const loadedBy = (file: string, seen = new Set<string>()): Set<string> => {
  if (seen.has(file)) return seen
  seen.add(file)
  for (const [, from, lazy] of readFileSync(file, 'utf8').matchAll(imports)) {
    const target = resolve(dirname(file), from ?? lazy ?? '')
    if (existsSync(target)) loadedBy(target, seen)
  }
  return seen
}

test('exec loads nothing of the store, the workspace or the API', () => {
  const files = readdirSync(resolve(source, 'exec')).filter((name) => !name.endsWith('.test.ts'))
  const seen = new Set<string>()
  for (const name of files) loadedBy(resolve(source, 'exec', name), seen)
  const loaded = [...seen].map((file) => relative(source, file))
  expect(loaded).toContain('recovery/ladder.ts')
  expect(loaded.filter((file) => /^(?:store|workspace|api)\//.test(file))).toEqual([])
})
