/** Changed paths outside the task: left out, allowed, or taken back by the agent, but never on main where they are forbidden. */
import type { FaultEnvironment } from '../faults.ts'
import { addDependency, writeFiles } from '../project.ts'
import type { Act, SetEntry } from './entry.ts'
import { coverScript, withScripts } from './scenes.ts'
import { always, pick, single, untilTold } from './work.ts'

const notes: Act = { change: { path: 'scratch.md', after: 'Only notes of mine.\n' } }

/** A value in the shape of a token of GitHub, in parts so that no scanner takes this file for a leak. */
export const tokenText = (seed: number): string => {
  const letters = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'
  const body = Array.from({ length: 36 }, (_, at) => letters[(seed * 31 + at * at * 17 + at * 7) % letters.length])
  return ['ghp', body.join('')].join('_')
}

const tokenLine = (seed: number): string => `export const header = 'Bearer ${tokenText(seed)}'\n`

const makefile = 'check:\n\tnpm test\n'
const verifyTarget: Act = {
  change: { path: 'Makefile', before: makefile, after: `${makefile}\nverify:\n\tnpm test\n` },
}

const dashFile = "export const dash = '-'\n"
/** Code that needs a file outside the paths of the task. */
const needed = (path: string): Act[] => [
  { change: { path, after: dashFile } },
  { change: { path: 'src/dash.mjs', after: `export { dash } from '../${path}'\n` } },
  {
    change: {
      path: 'test/dash.test.mjs',
      after:
        "import assert from 'node:assert/strict'\nimport { test } from 'node:test'\nimport { dash } from '../src/dash.mjs'\n\ntest('the dash is one character', () => assert.equal(dash.length, 1))\n",
    },
  },
]
const neededFiles = ['src/dash.mjs', 'test/dash.test.mjs']
/** The same code without that file. */
const inlined = (path: string): Act[] => [{ remove: path }, { change: { path: 'src/dash.mjs', after: dashFile } }]

const lockVersion: Act[] = ['package.json', 'package-lock.json'].map((path) => ({
  change: { path, before: '"version": "1.0.0"', after: '"version": "1.1.0"' },
}))

const bracketNames = ({ project }: FaultEnvironment): void =>
  writeFiles(project, { 'docs/a.md': '# A\n', 'docs/b.md': '# B\n', 'docs/[ab].md': '# Both\n' })

const innocent: SetEntry[] = [
  {
    ...{ name: 'notes outside, taken back when told', seed: 501, faults: ['path_outside'] },
    ...{ recoverable: true, reason: 'Policy: left out by a decision, or taken back by the agent.', expected: 'lands' },
    ...{ forbidden: { paths: ['scratch.md'] } },
    scene: (seed) => single(seed, untilTold('scratch\\.md', [notes], [{ remove: 'scratch.md' }])),
  },
  {
    ...{ name: 'notes outside, discarded by the model', seed: 502, faults: ['path_outside'] },
    ...{ recoverable: true, reason: 'Policy: the model says discard.', expected: 'lands' },
    ...{ forbidden: { paths: ['scratch.md'] } },
    scene: (seed) => single(seed, always([notes]), { play: { model: { 'scratch.md': 'discard' } } }),
  },
  {
    ...{ name: 'Makefile that the check needs', seed: 503, faults: ['path_outside'] },
    ...{ recoverable: true, reason: 'Policy: a command-driven rule allows it in the default mode.', expected: 'lands' },
    ...{ forbidden: {} },
    scene: (seed) =>
      single(seed, always([verifyTarget]), {
        ...{ prepare: ({ project }) => writeFiles(project, { Makefile: makefile }), also: ['Makefile'] },
        task: { commands: ['make verify'] },
      }),
  },
  {
    ...{ name: 'file of the task context', seed: 504, faults: ['path_outside'] },
    ...{ recoverable: true, reason: 'Policy: a context file of the task is allowed in every mode.', expected: 'lands' },
    ...{ forbidden: {} },
    scene: (seed) =>
      single(seed, always([{ change: { path: 'docs/notes.md', after: '# Notes\n\nSee slug.\n' } }]), {
        ...{ task: { contextFiles: ['docs/notes.md'] }, also: ['docs/notes.md'] },
      }),
  },
  {
    ...{ name: 'generated coverage', seed: 505, faults: ['path_generated'] },
    ...{
      recoverable: true,
      reason: 'Policy: untracked files that a check makes again are left out.',
      expected: 'lands',
    },
    ...{ forbidden: { paths: ['coverage/lcov.info'] } },
    scene: (seed) =>
      single(seed, always([{ node: ['scripts/cover.mjs'] }]), {
        prepare: withScripts({
          scripts: { test: 'node --test && node scripts/cover.mjs' },
          files: { 'scripts/cover.mjs': coverScript },
        }),
      }),
  },
  {
    ...{ name: 'file in an ignored folder', seed: 506, faults: ['path_generated'] },
    ...{ recoverable: true, reason: 'Policy: files that the base commit ignores take no part.', expected: 'lands' },
    ...{ forbidden: { paths: ['cache/state.json'] } },
    scene: (seed) =>
      single(seed, always([{ change: { path: 'cache/state.json', after: '{}\n' } }]), {
        prepare: ({ project }) => writeFiles(project, { '.gitignore': 'node_modules\ncache\n' }),
      }),
  },
  {
    ...{ name: 'lockfile of a changed manifest', seed: 507, faults: ['path_outside'] },
    ...{ recoverable: true, reason: 'Policy: the lockfile belongs to the manifest that the task may change.' },
    ...{ expected: 'lands', forbidden: {} },
    scene: (seed) =>
      single(seed, always(lockVersion), {
        ...{ prepare: ({ project }) => addDependency(project), also: ['package.json', 'package-lock.json'] },
        ...{ task: { allowedPaths: ['src/**', 'test/**', 'package.json'] } },
        play: { model: { 'package-lock.json': 'allow' } },
      }),
  },
  {
    ...{ name: 'needed file, allowed by the model', seed: 508, faults: ['path_outside'] },
    ...{ recoverable: true, reason: 'Policy: the model says allow, inside the fence.', expected: 'lands' },
    ...{ forbidden: {} },
    scene: (seed) =>
      single(seed, always(needed('lib/dash.mjs')), {
        ...{ also: ['lib/dash.mjs', ...neededFiles], play: { model: { 'lib/dash.mjs': 'allow' } } },
      }),
  },
  {
    ...{ name: 'needed file, denied by the model', seed: 509, faults: ['path_outside'] },
    ...{ recoverable: true, reason: 'Policy: after deny the agent is told once and does without.', expected: 'lands' },
    ...{ forbidden: { paths: ['lib/dash.mjs'] } },
    scene: (seed) => {
      const path = 'lib/dash.mjs'
      return single(
        seed,
        [
          { when: { untold: 'lib/dash\\.mjs' }, acts: ['right', ...needed(path)] },
          { acts: ['right', ...needed(path), ...inlined(path)] },
        ],
        { also: neededFiles, play: { model: { [path]: 'deny' } } },
      )
    },
  },
  {
    ...{ name: 'configuration in the root folder', seed: 510, faults: ['path_outside'] },
    ...{ recoverable: true, reason: 'Policy: allowed by its infra signal in the default mode, or by the model.' },
    ...{ expected: 'lands', forbidden: {} },
    scene: (seed) =>
      single(seed, always([{ change: { path: '.gitignore', after: 'node_modules\nbuild\n' } }]), {
        task: { instructions: 'The build writes to the folder build; the set-up of the project must ignore it.' },
        ...{ also: ['.gitignore'], play: { model: { '.gitignore': 'allow' } } },
      }),
  },
  {
    ...{ name: 'name with brackets', seed: 511, faults: ['path_outside'] },
    ...{ recoverable: true, reason: 'Policy: the one file is left out; its siblings stay as they were.' },
    ...{ expected: 'lands', forbidden: { paths: ['docs/a.md', 'docs/b.md', 'docs/[ab].md'] } },
    scene: (seed) =>
      single(seed, always([{ change: { path: 'docs/[ab].md', after: '# Changed\n' } }]), {
        ...{ prepare: bracketNames, play: { model: { 'docs/[ab].md': 'discard' } } },
      }),
  },
]

const forbidden: SetEntry[] = [
  {
    ...{ name: 'denied path, taken back when told', seed: 521, faults: ['path_denied'] },
    ...{ recoverable: true, reason: 'Policy: the agent is told once with the path named.', expected: 'lands' },
    ...{ forbidden: { paths: ['docs/notes.md'] } },
    scene: (seed) =>
      single(
        seed,
        untilTold(
          'docs/notes\\.md',
          [{ change: { path: 'docs/notes.md', after: '# Changed\n' } }],
          [{ change: { path: 'docs/notes.md', after: '# Notes\n' } }],
        ),
        { task: { allowedPaths: ['**'], deniedPaths: ['docs/**'] } },
      ),
  },
  {
    ...{ name: 'denied path at every launch', seed: 522, faults: ['path_denied'] },
    ...{ recoverable: false, reason: 'No safe path can be added, so the waits end and the task is cancelled.' },
    ...{ expected: 'cancelled + question', forbidden: { paths: ['docs/notes.md'] } },
    scene: (seed) =>
      single(seed, always([{ change: { path: 'docs/notes.md', after: '# Changed\n' } }]), {
        ...{ task: { allowedPaths: ['**'], deniedPaths: ['docs/**'] } },
        play: { model: { 'docs/notes.md': 'allow' } },
      }),
  },
  {
    ...{ name: 'secret by its name', seed: 523, faults: ['path_secret'] },
    ...{ recoverable: true, reason: 'Policy: never allowed, whatever the model says; the agent takes it back.' },
    ...{ expected: 'lands', forbidden: { paths: ['src/server.pem'], secret: true } },
    scene: (seed) =>
      single(
        seed,
        untilTold(
          'src/server\\.pem',
          [{ change: { path: 'src/server.pem', after: 'not a key, but it has the name of one\n' } }],
          [{ remove: 'src/server.pem' }],
        ),
        { play: { model: { 'src/server.pem': 'allow' } } },
      ),
  },
  {
    ...{ name: 'secret in the text', seed: 524, faults: ['secret_text'] },
    ...{ recoverable: true, reason: 'Policy: the agent is told of the line and takes it back.', expected: 'lands' },
    ...{ forbidden: { paths: ['src/client.mjs'], texts: [tokenText(524)], secret: true } },
    scene: (seed) =>
      single(
        seed,
        untilTold(
          'src/client\\.mjs',
          [{ change: { path: 'src/client.mjs', after: tokenLine(seed) } }],
          [{ remove: 'src/client.mjs' }],
        ),
      ),
  },
  {
    ...{ name: 'secret in the text at every launch', seed: 525, faults: ['secret_text'] },
    ...{ recoverable: false, reason: 'A secret is never allowed, and the agent does not take it back.' },
    expected: 'cancelled + question',
    ...{ forbidden: { paths: ['src/client.mjs'], texts: [tokenText(525)], secret: true } },
    scene: (seed) =>
      single(seed, always([{ change: { path: 'src/client.mjs', after: tokenLine(seed) } }]), {
        play: { model: { 'src/client.mjs': 'allow' } },
      }),
  },
  {
    ...{ name: 'rename from outside', seed: 526, faults: ['path_renamed'] },
    ...{
      recoverable: true,
      reason: 'Policy: both sides of a rename count; the agent takes it back.',
      expected: 'lands',
    },
    ...{ forbidden: { paths: ['docs/notes.md', 'src/notes.md'] } },
    scene: (seed) =>
      single(
        seed,
        untilTold(
          'docs/notes\\.md',
          [{ git: ['mv', '-f', 'docs/notes.md', 'src/notes.md'] }],
          [{ remove: 'src/notes.md' }, { change: { path: 'docs/notes.md', after: '# Notes\n' } }],
        ),
        { play: { model: { 'docs/notes.md': 'deny' } } },
      ),
  },
  {
    ...{ name: 'symlink out of the repository', seed: 527, faults: ['symlink_out'] },
    ...{ recoverable: true, reason: 'Policy: never allowed; the agent takes it back when told.', expected: 'lands' },
    ...{ forbidden: { paths: ['src/hosts'] } },
    scene: (seed) =>
      single(
        seed,
        untilTold(
          'src/hosts',
          [{ link: 'src/hosts', to: pick(seed, ['/etc/hosts', '../../../etc/hosts']) }],
          [{ remove: 'src/hosts' }],
        ),
        { play: { model: { 'src/hosts': 'allow' } } },
      ),
  },
  {
    ...{ name: 'folder that differs in case', seed: 528, faults: ['path_outside'] },
    ...{ recoverable: true, reason: 'Policy: case is exact for what is allowed; the model says discard.' },
    ...{ expected: 'lands', forbidden: { paths: ['Src/extra.mjs'] } },
    scene: (seed) =>
      single(seed, always([{ change: { path: 'Src/extra.mjs', after: dashFile } }]), {
        play: { model: { 'Src/extra.mjs': 'discard' } },
      }),
  },
  {
    ...{ name: 'nested repository', seed: 530, faults: ['nested_repository'] },
    ...{ recoverable: true, reason: 'Policy: never allowed; the agent takes it back when told.', expected: 'lands' },
    ...{ forbidden: { paths: ['src/vendored', 'src/vendored/a.mjs'] } },
    scene: (seed) =>
      single(
        seed,
        untilTold(
          'src/vendored',
          [
            { change: { path: 'src/vendored/a.mjs', after: dashFile } },
            { git: ['init', '-q'], in: 'src/vendored' },
            { git: ['add', '-A'], in: 'src/vendored' },
            { git: ['commit', '-q', '-m', 'Start'], in: 'src/vendored' },
          ],
          [{ remove: 'src/vendored' }],
        ),
      ),
  },
]

export const pathEntries: readonly SetEntry[] = [...innocent, ...forbidden]
