/** A user with a repository and a forge: the command line in a repository of their own, beside a stand-in of GitHub. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { runHere, type Ended } from '../cli/in-process.ts'
import { prepareEngineHome } from '../support/engine-home.ts'
import { openGitHub } from '../support/github.ts'
import { makeRepository, put, temporaryFolder, user } from '../workspace/scene.ts'

/** A poll of what an engine does beside the test. */
export const eventually = { timeout: 60_000, interval: 300 }

export const openForgeUser = async () => {
  const top = temporaryFolder()
  const root = join(top, 'shop')
  const bare = join(top, 'origin.git')
  const github = await openGitHub()
  const environment: Record<string, string | undefined> = {
    ...{ PATH: process.env.PATH, HOME: join(top, 'home'), UNSTUCK_HOME: join(top, 'state'), GH_TOKEN: github.token },
  }
  mkdirSync(join(top, 'home'))
  makeRepository(root, { 'README.md': '# Shop\n', '.gitignore': '.unstuck/\n' })
  prepareEngineHome(join(top, 'state'))
  const cli = (...args: string[]): Promise<Ended> => runHere(args, { cwd: root, environment })
  return {
    ...{ top, root, bare, github, environment, cli },
    /** What a command prints with `--json`; of several lines the last. */
    json: async <T>(...args: string[]): Promise<T> => {
      const { stdout } = await cli(...args, '--json')
      return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as T
    },
    forge: { kind: 'github', repository: github.repository, apiUrl: github.apiUrl, pollSeconds: 5 },
    /** `command` is the agent, which gets its brief as an argument. */
    configure: (command: string[], more: object = {}): void => {
      const harness = { default: 'mine', mine: { command, promptMode: 'argument' } }
      const config = { harness, verify: { commands: ['test -f README.md'], proof: 'off' }, ...more }
      put(root, { '.unstuck/config.json': JSON.stringify(config) })
    },
    /** Makes the remote `origin`. */
    pushToOrigin: (): void => {
      user(top, 'init', '--quiet', '--bare', bare)
      user(root, 'push', '--quiet', bare, 'HEAD:main')
      user(root, 'remote', 'add', 'origin', bare)
    },
    /** Not `stop --all`, which would stop the server of the test run. */
    leave: async (): Promise<void> => {
      const { exitCode, stderr } = await cli('stop')
      await github.close()
      if (exitCode !== 0) throw new Error(stderr)
    },
  }
}
