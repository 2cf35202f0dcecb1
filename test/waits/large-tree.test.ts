/** Goals in a large repository start from trees of earlier ones, and what a check did to its tree is seen by no later run. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const agents: Record<string, FaultAgent> = {
  worker: { driver: 'command', program: `put(/file-[a-z]+/.exec(args.at(-1))[0] + '.txt', 'written\\n')` },
}

/** Fails in a tree that is not that of its commit, then leaves such a tree behind, with the size and times that it found. */
const check = `
const fs = require('node:fs')
if (fs.readFileSync('answer.txt', 'utf8') !== 'clean\\n' || fs.existsSync('planted.log')) process.exit(3)
const { atime, mtime } = fs.statSync('answer.txt')
fs.writeFileSync('answer.txt', 'dirty\\n')
fs.utimesSync('answer.txt', atime, mtime)
fs.writeFileSync('planted.log', '')
process.exit(fs.readdirSync('.').some((name) => name.startsWith('file-')) ? 0 : 1)
`

const many = Object.fromEntries(
  Array.from({ length: 1100 }, (_, number) => [`src/${number % 10}/file${number}.txt`, `line ${number}\n`]),
)

const opened: Scene[] = []
afterEach(async () => {
  for (const scene of opened.splice(0)) await scene.clear()
})

const open = async (): Promise<Scene> => {
  const files = { ...many, 'check.js': check, 'answer.txt': 'clean\n', '.gitignore': '*.log\n' }
  const scene = await openScene(agents, {}, { files })
  opened.push(scene)
  return scene
}

/** The folder of trees that are ready, and of those that wait for their inspection. */
const treesIn = (scene: Scene, part: 'ready' | 'returned'): string[] => {
  const home = join(scene.top, 'home')
  const [folder] = readdirSync(home)
    .map((name) => join(home, name, 'trees', part))
    .filter((path) => existsSync(path))
  return folder === undefined ? [] : readdirSync(folder).map((name) => join(folder, name))
}

const untilReady = (scene: Scene): Promise<string[]> =>
  scene.waitFor('two trees are ready', async () => {
    const trees = treesIn(scene, 'ready')
    return trees.length === 2 && treesIn(scene, 'returned').length === 0 ? trees : undefined
  })

const land = async (scene: Scene, name: string): Promise<void> => {
  const goal = await scene.goal([{ title: `Write ${name}`, instructions: name, allowedPaths: ['file-*'] }], {
    autoMerge: true,
  })
  await scene.until(goal, 'done')
  expect(await scene.runs(goal)).toHaveLength(1)
  expect(await scene.recoveries(goal)).toEqual([])
  expect(readFileSync(join(scene.root, `${name}.txt`), 'utf8')).toBe('written\n')
}

it('three goals land one after another, each from a tree as its commit has it', async () => {
  const scene = await open()
  await land(scene, 'file-a')
  const before = await untilReady(scene)
  for (const name of ['file-b', 'file-c']) {
    await land(scene, name)
    await untilReady(scene)
  }
  // Each run took trees of the pool and gave them back under another name.
  expect(treesIn(scene, 'ready').filter((tree) => before.includes(tree))).toEqual([])
  for (const tree of treesIn(scene, 'ready'))
    expect(readFileSync(join(tree, 'tree', 'answer.txt'), 'utf8')).toBe('clean\n')
})
