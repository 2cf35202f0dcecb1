/** Who forgot everything that is theirs to forget, environment, session, group, parent and folder, and is known all the same. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { makeGroup, ownGroup, removeGroup } from '../../src/platform/group.ts'
import { markOf } from '../../src/platform/mark.ts'
import type { ProcessIdentity } from '../../src/platform/process.ts'
import { launchState, openGate, requestStop, waitForExit } from '../../src/process/shim-client.ts'
import { sweep } from '../../src/process/sweep.ts'
import { allLines, createBench, exitOf, isGone, shell, until } from './bench.ts'

const bench = createBench()
afterAll(() => bench.clear())

const firstLine = (dir: string): Promise<string> => until('a first line', () => allLines(dir).lines[0])
const agentOf = (dir: string): Promise<number> =>
  until('agent.json', () => {
    const path = join(dir, 'agent.json')
    return existsSync(path) && (JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity).pid
  })

/** Few machines let a plain user. */
const canGroup = makeGroup('unstuck-probe') !== undefined
removeGroup('unstuck-probe')

describe.runIf(process.platform === 'linux')('after the program ended by itself', () => {
  test.each([
    ['in one more session', 'setsid sh -c'],
    ['forked twice', `sh -c '(setsid sh -c "$1" &)' sh`],
  ])('what forgot everything (%s) is known by the limit that it inherited', async (_how, leave) => {
    const outer = await bench.start(shell('exec sleep 300'))
    openGate(outer.dir)
    const bystander = await agentOf(outer.dir)
    const script = `cd /; env -i ${leave} 'echo $$ >${bench.root}/left; exec sleep 300 >/dev/null 2>&1' >/dev/null 2>&1 &
      until [ -s ${bench.root}/left ]; do sleep 0.05; done; cat ${bench.root}/left; rm ${bench.root}/left`
    const { dir } = await bench.start(shell(script))
    openGate(dir)
    expect(await exitOf(dir)).toMatchObject({ code: 0, forced: false })
    expect(isGone(Number(allLines(dir).lines[0]))).toBe(true)
    expect(isGone(bystander)).toBe(false)
    requestStop(outer, 'shutdown')
    await exitOf(outer.dir)
  })

  test.runIf(canGroup)(
    'what set its limit again is known by its control group, which goes with the launch',
    async () => {
      const script = `cd /; env -i setsid bash -c 'ulimit -S -x 7; echo $$ >${bench.root}/left; exec sleep 300 >/dev/null 2>&1' >/dev/null 2>&1 &
      until [ -s ${bench.root}/left ]; do sleep 0.05; done; cat ${bench.root}/left; rm ${bench.root}/left; cat /proc/self/cgroup`
      const { dir, identity } = await bench.start(shell(script))
      openGate(dir)
      expect(await exitOf(dir)).toMatchObject({ code: 0, forced: false })
      const { lines } = allLines(dir)
      expect(isGone(Number(lines[0]))).toBe(true)
      const name = `unstuck-${markOf(identity)}`
      expect(lines.join('\n')).toContain(name)
      expect(existsSync(join(ownGroup()!, name))).toBe(false)
    },
  )
})

describe.runIf(process.platform === 'linux')('when the shim is killed', () => {
  test('a sweep that knows it ends what cleared its environment as well', async () => {
    const shim = await bench.start(shell('env -i setsid sh -c "echo \\$\\$; exec sleep 300" & exec sleep 300'))
    openGate(shim.dir)
    const left = Number(await firstLine(shim.dir))
    process.kill(shim.identity.pid, 'SIGKILL')
    expect((await waitForExit(shim.dir, { deadlineMs: 5000 })).state).toBe('lost')
    const elsewhere = { ...shim.identity, bootId: 'another' }
    expect(await sweep('nobody', { shims: [elsewhere] })).toBe(0)
    expect(isGone(left)).toBe(false)
    expect(await sweep('nobody', { shims: [shim.identity] })).toBe(2)
    expect(isGone(left)).toBe(true)
  })

  test.runIf(canGroup)('its control group is taken back by the next launch', async () => {
    const shim = await bench.start(shell('exec sleep 300'))
    openGate(shim.dir)
    const agent = await agentOf(shim.dir)
    const group = join(ownGroup()!, `unstuck-${markOf(shim.identity)}`)
    await until('it is in its group', () => readFileSync(join(group, 'cgroup.procs'), 'utf8').includes(String(agent)))
    process.kill(shim.identity.pid, 'SIGKILL')
    await until('lost', () => launchState(shim.dir).state === 'lost')
    const launch = async (): Promise<void> => {
      const { dir } = await bench.start(shell('true'))
      openGate(dir)
      await exitOf(dir)
    }
    await launch()
    expect(existsSync(group)).toBe(true) // somebody is in it
    process.kill(agent, 'SIGKILL')
    await until('it is empty', () => isGone(agent))
    await launch()
    expect(existsSync(group)).toBe(false)
  })
})
