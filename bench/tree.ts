/**
 * What a goal costs in a large repository, beside git's own commands on it: the first goal (with the start of the engine), and the median of those after it. Targets: a later
 * goal over its agent and check at most twice `git status` plus 0.5 s; the first at most 1.2 times a clone more.
 *
 *     node bench/tree.ts [files...]      default: 1000 10000
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median, printResult, runTimed } from './measure.ts'

const entry = join(import.meta.dirname, '..', 'bin', 'unstuck.js')
const laterGoals = 4

/** Takes no time, so that only our own is measured. */
const agent = "require('node:fs').writeFileSync('note-' + process.hrtime.bigint() + '.txt', 'x')"

/** Text of a size like that of source files, different in each. */
const textOf = (number: number): string =>
  `// ${number}\n${'const value = 1 // a line of code\n'.repeat(10 + (number % 90))}`

const blob = (path: string, text: string): string =>
  `M 100644 inline ${path}\ndata ${Buffer.byteLength(text)}\n${text}\n`

/** One commit by `git fast-import`, because adding 100,000 files one by one takes minutes. */
const makeRepository = (root: string, files: number): void => {
  execFileSync('git', ['init', '-q', '-b', 'main', root])
  const config = {
    harness: { default: 'bench', bench: { command: [process.execPath, '-e', agent] } },
    verify: { commands: ['test -f README.md'] },
  }
  const names = Array.from({ length: files }, (_, number) => `src/${number % 97}/${number % 31}/file${number}.js`)
  const input = [
    'commit refs/heads/main\ncommitter Bench <bench@localhost> 1700000000 +0000\ndata 4\nbase\n',
    blob('README.md', '# bench\n'),
    blob('.unstuck/config.json', JSON.stringify(config)),
    ...names.map((name, number) => blob(name, textOf(number))),
  ]
  const imported = spawnSync('git', ['fast-import', '--quiet'], { cwd: root, input: input.join(''), encoding: 'utf8' })
  if (imported.status !== 0) throw new Error(`git fast-import: ${imported.stderr}`)
  execFileSync('git', ['reset', '-q', '--hard'], { cwd: root })
}

const bytesOf = (folder: string): number =>
  Number(execFileSync('du', ['-sk', folder], { encoding: 'utf8' }).split('\t')[0])

const measure = async (files: number): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-bench-tree-'))
  const root = join(folder, 'repo')
  const env = { ...process.env, UNSTUCK_HOME: join(folder, 'home'), XDG_CACHE_HOME: join(folder, 'cache') }
  mkdirSync(root)
  makeRepository(root, files)
  const timed = async (argv: string[]): Promise<number> => (await runTimed(argv, { cwd: root, env })).ms
  const goal = (number: number) => timed([process.execPath, entry, 'run', `write note ${number}`, '--merge', '--json'])
  await timed(['git', 'status'])
  const statusMs = await timed(['git', 'status'])
  const cloneMs = await timed(['git', 'clone', '-q', '--shared', root, join(folder, 'clone')])
  const firstMs = await goal(0)
  const later: number[] = []
  for (let number = 1; number <= laterGoals; number += 1) later.push(await goal(number))
  const treeMb = bytesOf(join(folder, 'clone')) / 1024
  const keptMb = bytesOf(env.UNSTUCK_HOME) / 1024
  printResult('tree', { files, statusMs, cloneMs, firstMs, laterMs: median(later), treeMb, keptMb })
  await timed([process.execPath, entry, 'stop', '--all'])
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}

const asked = process.argv.slice(2).map(Number)
for (const files of asked.length > 0 ? asked : [1_000, 10_000]) {
  if (!Number.isSafeInteger(files) || files < 1) {
    process.stderr.write('usage: node bench/tree.ts [files...], each a number above 0\n')
    process.exit(2)
  }
  await measure(files)
}
