/** Plays a case as its user would: `unstuck run … --merge` in the repository, with a program as the agent. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StatusView } from '../../../src/api/contract.ts'
import { runHere } from '../../cli/in-process.ts'
import { prepareEngineHome } from '../../support/engine-home.ts'
import { layOut, type BlindCase } from './read-cases.ts'

export interface Played {
  /** The work is on the user's branch, on the goal branch alone, or on neither. */
  end: 'landed' | 'goal branch' | 'nowhere'
  /** Kinds of the questions that wait, other than that for the last hop. */
  questions: string[]
  printed: string
}

export const play = async (subject: BlindCase): Promise<Played> => {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-blind-')))
  const root = join(top, 'repo')
  const home = join(top, 'home')
  mkdirSync(root)
  prepareEngineHome(home)
  const script = join(top, 'agent.sh')
  // A launch that corrects finds its work done.
  writeFileSync(script, `[ ! -e .git/agent-was-here ] || exit 0\ntouch .git/agent-was-here\n${subject.script}`)
  layOut(subject, root, {
    '.unstuck/config.json': JSON.stringify({
      harness: { default: 'mine', mine: { command: ['sh', script], promptMode: 'argument' } },
      requeue: { inPlaceLimit: 0, reworkDepth: 0 },
      policyRecovery: { useLlm: false },
    }),
  })
  const { PATH, HOME, XDG_CACHE_HOME, GOCACHE } = process.env
  const environment = { PATH, HOME, XDG_CACHE_HOME, GOCACHE, UNSTUCK_HOME: home }
  const cli = (...args: string[]) => runHere(args, { cwd: root, environment })
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  try {
    const start = git('rev-parse', 'main')
    const { stdout, stderr } = await cli('run', subject.task, '--merge')
    const status = JSON.parse((await cli('status', '--json')).stdout) as StatusView
    const goals = git('for-each-ref', '--format=%(objectname)', 'refs/heads/unstuck/goal').split('\n')
    const landed = git('rev-parse', 'main') !== start
    return {
      end: landed ? 'landed' : goals.some((tip) => tip !== '' && tip !== start) ? 'goal branch' : 'nowhere',
      questions: status.escalations.map((question) => JSON.stringify(question).slice(0, 1500)),
      printed: stdout + stderr,
    }
  } finally {
    await cli('stop')
    rmSync(top, { recursive: true, force: true, maxRetries: 5 })
  }
}
