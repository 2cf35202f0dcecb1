/** A Python project with requirements and no environment of the owner: its packages are there before the agent starts. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

let scene: Scene
afterEach(() => scene?.clear())

const hasPip = spawnSync('python3', ['-c', 'import ensurepip, pip, venv']).status === 0

/** A package in a folder beside the repository: its install needs no network. */
const makeWheel = (folder: string, name: string): void => {
  mkdirSync(folder, { recursive: true })
  const code = `import sys, zipfile
folder, name = sys.argv[1:]
info = f'{name}-1.0.dist-info'
with zipfile.ZipFile(f'{folder}/{name}-1.0-py3-none-any.whl', 'w') as wheel:
    wheel.writestr(f'{name}.py', 'X = 1')
    wheel.writestr(f'{info}/METADATA', f'Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n')
    wheel.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(f'{info}/RECORD', '')`
  execFileSync('python3', ['-c', code, folder, name])
}

const agent: FaultAgent = {
  driver: 'claude',
  program: `begin(); put('TOP/saw', String(existsSync('.venv'))); put('made.txt', 'made ' + process.pid); end()`,
}

const done = async (commands: string[]): Promise<string> => {
  const goal = await scene.goal([{ commands }])
  await scene.until(goal, 'ready', 'awaiting_human')
  expect([(await scene.task(goal)).place, await scene.recoveries(goal)]).toEqual(['done', []])
  return goal
}

const saw = (): string => readFileSync(join(scene.top, 'saw'), 'utf8')

test.runIf(hasPip)(
  'requirements of the project, and those of its tests, are installed before the agent, and are no work',
  async () => {
    const files = {
      'api/requirements.txt': '--no-index\n--find-links TOP/wheels\nunstuck-word==1.0\n',
      'api/requirements-dev.txt': '-r requirements.txt\nunstuck-tool\n',
      'api/check.py': "import os, unstuck_word, unstuck_tool; assert os.path.exists('../made.txt')",
    }
    scene = await openScene({ agent }, {}, { files })
    for (const name of ['unstuck_word', 'unstuck_tool']) makeWheel(join(scene.top, 'wheels'), name)
    const goal = await done(['cd api && python3 check.py'])
    expect(saw()).toBe('true')
    expect(await scene.events(goal, 'run.packages_installed')).toHaveLength(1)
    const listed = execFileSync('git', ['ls-tree', '-r', '--name-only', `unstuck/goal/${goal}`], { cwd: scene.root })
    expect(listed.toString()).not.toContain('.venv')
  },
)

test.runIf(hasPip)(
  'what the interpreter on the PATH has is not installed, nor is anything beside an environment of the owner',
  async () => {
    const files = {
      'requirements.txt': '--no-index\npip>=1  # has it\nnever; python_version < "3"\n',
      'api/requirements.txt': '--no-index\n--find-links TOP/wheels\nunstuck-word==1.0\n',
      'api/check.py': "import os, unstuck_word; assert os.path.exists('../made.txt')",
      'check.py': "import os; assert os.path.exists('made.txt')",
      '.gitignore': '.venv\n',
    }
    scene = await openScene({ agent }, {}, { files })
    const top = await done(['python3 check.py'])
    expect([saw(), await scene.events(top, 'run.install_started')]).toEqual(['false', []])
    makeWheel(join(scene.top, 'wheels'), 'unstuck_word')
    const own = join(scene.root, 'api')
    execFileSync('python3', ['-m', 'venv', '.venv'], { cwd: own })
    execFileSync(join(own, '.venv/bin/python'), ['-m', 'pip', 'install', '-q', '-r', 'requirements.txt'], { cwd: own })
    const below = await done(['cd api && python3 check.py'])
    expect([saw(), await scene.events(below, 'run.install_started')]).toEqual(['false', []])
  },
)
