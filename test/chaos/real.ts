/**
 * A real agent CLI for a round: it talks to the scripted model server and is held in the middle of a tool call until the
 * engine was killed and started again.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installClis } from '../../scripts/install-clis.ts'
import { pointersTo } from '../../sim/simulate.ts'
import { parseScript } from '../../sim/script.ts'
import { startSim } from '../../sim/server.ts'
import type { Run } from '../../src/api/contract.ts'
import { livenessOf, type ProcessIdentity } from '../../src/platform/process.ts'
import { codexSandboxWorks } from '../real/agents.ts'
import type { Cli } from './plan.ts'
import { look, post, type Real, type Scene } from './rounds.ts'
import { goalFor, must, until } from './world.ts'

export interface RealCli extends Real {
  harness: Record<string, unknown>
  environment: Record<string, string>
  close(): Promise<void>
}

const script = {
  conversations: [
    {
      name: 'held',
      match: 'Work of real',
      steps: [
        { write: { path: 'real.md', content: 'begun\n' } },
        { hold: { until: 'go', mark: 'held' } },
        { write: { path: 'real-end.md', content: 'ended\n' } },
        { text: 'All done.' },
      ],
    },
  ],
}

/** Where the machine allows Codex no namespaces its sandbox refuses every tool: then the same process runs without it. */
const codexProgram = (folder: string, codex: string): string[] => {
  const home = join(folder, 'probe')
  mkdirSync(home)
  if (codexSandboxWorks(codex, home)) return [codex]
  const path = join(folder, 'codex.sh')
  const swap = 'for a; do shift; [ "$a" = workspace-write ] && a=danger-full-access; set -- "$@" "$a"; done'
  writeFileSync(path, `#!/bin/sh\n${swap}\nexec '${codex}' "$@"\n`)
  chmodSync(path, 0o755)
  return [path]
}

interface Held {
  run: string
  workspace: string
  agent: ProcessIdentity
}

const heldBy = async (scene: Scene): Promise<Held | undefined> => {
  const folder = join(scene.world.stateDir, 'runs')
  for (const run of existsSync(folder) ? readdirSync(folder) : []) {
    const workspace = join(folder, run, 'workspace')
    if (!existsSync(join(workspace, 'held'))) continue
    const agent = JSON.parse(readFileSync(join(folder, run, 'launches', '1', 'agent.json'), 'utf8')) as ProcessIdentity
    return { run, workspace, agent }
  }
  return undefined
}

const releaseHeld = async (scene: Scene, held: Held): Promise<string[]> => {
  const found = livenessOf(held.agent) === 'alive' ? [] : ['the CLI did not survive the kill of the engine']
  writeFileSync(join(held.workspace, 'go'), '')
  await until('the held run ends', async () => {
    await look(scene)
    return (await must<Run[]>(scene.world, '/runs')).some((run) => run.id === held.run && run.state !== 'running')
  })
  const runs = await must<Run[]>(scene.world, '/runs')
  const own = runs.find((run) => run.id === held.run)
  const attempts = runs.filter((run) => run.taskId === own?.taskId).length
  if (attempts !== 1 || own?.launches.length !== 1 || own.state !== 'success')
    found.push(`the held run is ${own?.state} with ${own?.launches.length} launch(es) in ${attempts} run(s)`)
  const now = JSON.parse(
    readFileSync(join(held.workspace, '..', 'launches', '1', 'agent.json'), 'utf8'),
  ) as ProcessIdentity
  if (now.pid !== held.agent.pid || now.startTime !== held.agent.startTime)
    found.push('another process finished the held run')
  return found
}

export const realCli = async (cli: Cli): Promise<RealCli> => {
  const clis = installClis(process.env)
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-chaos-cli-'))
  const sim = await startSim({ script: parseScript(script, 'chaos') })
  const pointers = pointersTo(sim.url)
  mkdirSync(join(folder, 'codex'))
  const harness =
    cli === 'claude'
      ? { driver: 'claude', command: [clis.claude], args: ['--allowedTools', 'Bash'] }
      : {
          driver: 'codex',
          command: codexProgram(folder, clis.codex),
          args: pointers.codex.flags,
          env: [...Object.keys(pointers.codex.env), 'CODEX_HOME'],
        }
  let held: Held | undefined
  return {
    harness: { real: harness },
    environment: { ...pointers.claude.env, ...pointers.codex.env, CODEX_HOME: join(folder, 'codex') },
    begin: async (scene) => {
      await post(scene, goalFor('real'))
      await until('the CLI is in the middle of its tool call', async () => {
        await look(scene)
        held = await heldBy(scene)
        return held !== undefined
      })
    },
    release: async (scene) => (held === undefined ? ['the CLI was never held'] : releaseHeld(scene, held)),
    close: async () => {
      await sim.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
