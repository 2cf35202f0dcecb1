/** The brief of an agent in a real run: the owner's instructions, and what failed on the machine with what cured it, until the check passes again. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'
import { proposalText } from '../support/proposals.ts'

/** Keeps each of its prompts, and proposes the command that puts the missing tool on the machine. */
const agent: FaultAgent = {
  driver: 'command',
  program: `
const prompt = args.join(' ') + readFileSync(0, 'utf8')
const name = /TASK-(\\w+)/.exec(prompt)?.[1]
put('TOP/prompts/' + name, prompt)
put(name + '.txt', 'made')
put(process.env.UNSTUCK_RUN_DIR + '/recovery.json', readFileSync('proposal.json', 'utf8'))
`,
}

const cure = 'touch TOP/outside/mytool'

const files = {
  '.unstuck/instructions/worker.md': 'Our own worker.',
  'check.sh': 'test -e TOP/outside/mytool && exit 0\nmytool --check\n',
  'proposal.json': proposalText({ command: cure, more: {} }).replace(
    'Cannot (start service|find module)',
    'mytool: (command )?not found',
  ),
}

let scene: Scene
afterEach(() => scene.clear())

const prompt = (name: string): string => readFileSync(join(scene.top, 'prompts', name), 'utf8')
const exported = (name: string): object | undefined => {
  const path = join(scene.root, '.unstuck/context', name)
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as object) : undefined
}

test('a missing command and its cure are in the next brief, and gone after the check has passed again', async () => {
  const commands = ['sh check.sh']
  scene = await openScene({ agent }, { recovery: { auto_approve: [cure], cooldown_seconds: 0 } }, { files })
  const make = async (name: string): Promise<void> => {
    const task = { title: name, instructions: `TASK-${name}: make ${name}.txt.`, commands }
    const goal = await scene.goal([{ ...task, allowedPaths: [`${name}.txt`] }])
    await scene.waitFor(`${name} is done`, async () => (await scene.task(goal)).status === 'done' || undefined)
  }
  await make('one')
  expect(prompt('one')).toMatch(/^## Your role\nOur own worker\.\n\n## This machine\nSystem: /)
  expect(prompt('one')).not.toContain('Failed on this machine lately')
  // An export from the middle of the run has the failure without its cure.
  const shown = await scene.waitFor('the cure in the export', async () => {
    const delta = exported('context-delta.json')
    return JSON.stringify(delta ?? null).includes('curedBy') ? delta : undefined
  })
  expect(shown).toMatchObject({
    schemaVersion: 1,
    reasonSignatures: [{ label: 'command_not_found', count: 1, curedBy: expect.stringContaining('touch ') as string }],
  })
  // The workspace has the committed text, the checkout a newer one.
  writeFileSync(join(scene.root, '.unstuck/instructions/worker.md'), 'Changed in the checkout.')
  await make('two')
  expect(prompt('two')).toMatch(/^## Your role\nChanged in the checkout\.\n/)
  const [, told = ''] = /## Failed on this machine lately\n(.*)\n/.exec(prompt('two')) ?? []
  expect(told).toContain(
    `command_not_found in \`sh check.sh\`, what helped: ran the proposed \`${cure.replace('TOP', scene.top)}\``,
  )
  expect(told).toContain('mytool: not found')
  await make('three')
  expect(prompt('three')).not.toContain('Failed on this machine lately')
  // The export follows the store, and goes with the last hint.
  await scene.waitFor('no export', async () => exported('context-delta.json') === undefined || undefined)
  expect(exported('agent-profile.json')).toMatchObject({
    schemaVersion: 1,
    tools: { node: expect.stringMatching(/^\d+\.\d+/) as string },
  })
})
