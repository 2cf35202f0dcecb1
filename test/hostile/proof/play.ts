/** Plays cases through an engine: one for each base, and for each case a goal whose agent leaves the files of the case. */
import { appendFileSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { GoalRequest, Run } from '../../../src/api/contract.ts'
import { proofText } from '../../../src/domain/proof.ts'
import { openScene, type Scene } from '../scene.ts'
import type { Base, ProofCase } from './case.ts'

export interface Played {
  goal: string
  /** Of the task. */
  place: string
  /** Of the last verification; null = its checks failed. */
  proof: Run['verdict'] extends (infer V) | null ? (V extends { proof?: infer P } ? P | null : never) : never
  text: string
  outcome: string | null
  checkMs: number
}

export interface ProofScene {
  scene: Scene
  play: (name: string, options?: Partial<GoalRequest['options']>) => Promise<Played>
  clear: () => Promise<void>
}

const apply = fileURLToPath(new URL('apply.mjs', import.meta.url))

export const openProofScene = async (base: Base, cases: readonly ProofCase[]): Promise<ProofScene> => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-proof-')))
  const commands = Object.fromEntries(
    cases.map(({ name, work }) => {
      const file = join(folder, `${name}.json`)
      writeFileSync(file, JSON.stringify(work))
      return [name, [process.execPath, apply, file]]
    }),
  )
  const scene: Scene = await openScene(
    cases.map(({ name }) => name),
    {
      ...{ commands, files: base.files, bare: true, ignored: ['node_modules/', '__pycache__/'] },
    },
  )
  return {
    scene,
    play: async (name, options = {}) => {
      const found = cases.find((each) => each.name === name)
      if (found === undefined) throw new Error(`no case ${name}`)
      const { title, instructions, allowedPaths, commands: checks } = found
      const goal = await scene.work([{ title, instructions, allowedPaths, commands: checks }], {
        harness: name,
        ...options,
      })
      const [task] = goal.tasks
      const runs = (await scene.api<Run[]>(`/runs?task=${task?.id ?? ''}`)).filter(({ verdict }) => verdict !== null)
      const verdict = runs.at(-1)?.verdict ?? null
      const proof = verdict?.proof ?? null
      const played: Played = {
        goal: goal.id,
        ...{
          place: task?.place ?? '',
          proof,
          text: proof === null ? '' : proofText(proof),
          outcome: verdict?.outcome ?? null,
        },
        checkMs: (verdict?.checks ?? []).reduce((sum, { durationMs }) => sum + durationMs, 0),
      }
      // For the table of a run by hand.
      if (process.env.PROOF_TABLE !== undefined)
        appendFileSync(
          process.env.PROOF_TABLE,
          `${JSON.stringify({ ...found, work: Object.keys(found.work), ...played })}\n`,
        )
      return played
    },
    clear: async () => {
      await scene.clear()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
