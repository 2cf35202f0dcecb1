/** Programs that yarn, pnpm and bun laid: links, or scripts of pnpm's form, beside those of the checkout. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { replacedPrograms } from '../../src/runtime/checks/replaced-programs.ts'
import { realFiles } from '../../src/runtime/core/files.ts'
import { put } from '../workspace/scene.ts'

let top = ''
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'unstuck-laid-'))
})
afterEach(() => rmSync(top, { recursive: true, force: true }))

/** By program, the package that brings it. */
type Programs = Record<string, string>

const asLink = (folder: string, program: string, from: string): void => {
  put(folder, { [`node_modules/${from}/cli.js`]: '' })
  const link = join(folder, 'node_modules/.bin', program)
  mkdirSync(dirname(link), { recursive: true })
  symlinkSync(`../${from}/cli.js`, link)
}

const asScript = (folder: string, program: string, from: string): void =>
  put(folder, {
    [`node_modules/.bin/${program}`]: `#!/bin/sh\nexport NODE_PATH="/x/node_modules/.pnpm/${from}@1.0.0/node_modules"\nexec node  "$basedir/../${from}/cli.js" "$@"\n`,
  })

interface Case {
  base?: Programs
  work: Programs
  paths: string[]
  files?: Record<string, string>
  folder?: string
  wanted: string[]
}

const cases: [string, Case][] = [
  [
    'a runtime, named by the manifest',
    {
      work: { node: 'evil', vitest: 'vitest' },
      paths: ['package.json', 'yarn.lock'],
      wanted: ['package.json: brings programs called node'],
    },
  ],
  [
    'a runtime in another case, by a lockfile alone',
    { work: { NPM: '@x/evil' }, paths: ['bun.lock'], wanted: ['bun.lock: brings programs called npm'] },
  ],
  [
    'a runtime that another package brought before',
    {
      base: { node: 'node' },
      work: { node: 'evil' },
      paths: ['yarn.lock'],
      wanted: ['yarn.lock: brings programs called node'],
    },
  ],
  [
    'the tool of the check, from another package than before',
    {
      base: { vitest: 'vitest' },
      work: { vitest: 'evil' },
      paths: ['pnpm-lock.yaml'],
      wanted: ['pnpm-lock.yaml: brings programs called vitest'],
    },
  ],
  [
    'a runtime in the folder of a package',
    {
      work: { sh: 'evil' },
      folder: 'lib',
      paths: ['lib/package.json', 'pnpm-lock.yaml'],
      wanted: ['lib/package.json: brings programs called sh'],
    },
  ],
  [
    'a runtime where there is no lockfile',
    { work: { node: 'evil' }, paths: ['package.json'], wanted: ['package.json: brings programs called node'] },
  ],
  [
    'nothing, where the packages are as before',
    { base: { node: 'node' }, work: { node: 'node' }, paths: ['yarn.lock'], wanted: [] },
  ],
  ['nothing, where no lockfile changed', { work: { node: 'evil' }, paths: ['a.js'], wanted: [] }],
  [
    'nothing, where another script of the manifest changed',
    { work: { node: 'node' }, files: { 'yarn.lock': '' }, paths: ['package.json'], wanted: [] },
  ],
  ['no tool that is new', { work: { vitest: 'vitest', mine: 'mine' }, paths: ['yarn.lock'], wanted: [] }],
]

describe.each([
  ['links', asLink],
  ['scripts', asScript],
])('of %s', (_form, lay) => {
  test.each(cases)('it names %s', (_name, { base = {}, work, paths, files = {}, folder = '', wanted }) => {
    const [clean, checkout] = [join(top, 'clean'), join(top, 'checkout')]
    for (const [program, from] of Object.entries(base)) lay(join(checkout, folder), program, from)
    for (const [program, from] of Object.entries(work)) lay(join(clean, folder), program, from)
    put(clean, { ...Object.fromEntries(paths.map((path) => [path, ''])), ...files })
    const found = replacedPrograms({ files: realFiles, clean, checkout, paths, words: new Set(['npx', 'vitest']) })
    expect(found.map(({ path, detail }) => `${path}: ${detail}`)).toEqual(wanted)
  })
})
