import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { realFiles } from '../../src/runtime/core/files.ts'
import { removeFolder } from '../../src/workspace/remove-folder.ts'

let top = ''
let mounted: string[] = []
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'unstuck-remove-'))
})
afterEach(async () => {
  for (const path of mounted) execFileSync('umount', ['-l', path])
  mounted = []
  await removeFolder(top)
})

const mount = (path: string, ...args: string[]): boolean => {
  try {
    execFileSync('mount', [...args, path], { stdio: 'ignore' })
    mounted.push(path)
    return true
  } catch {
    return false // only root may mount, and in some containers not even root
  }
}

const put = (path: string, text: string): void => {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
}

/** A bind mount of a folder of the same file system has the same device as what is around it. */
test.for(['tmpfs', 'bind'])(
  'what a mount (%s) in a folder shows is neither removed nor changed',
  async (kind, { skip }) => {
    const folder = join(top, 'workspace')
    const outside = join(top, 'outside')
    const point = join(folder, 'a b', 'data')
    put(join(outside, 'seen'), '')
    put(join(point, 'below'), 'x')
    const isMounted = kind === 'bind' ? mount(point, '--bind', outside) : mount(point, '-t', 'tmpfs', 'none')
    if (!isMounted) skip('this user may not mount')
    put(join(point, 'locked', 'kept.txt'), 'kept')
    chmodSync(join(point, 'locked'), 0o500)
    await expect(removeFolder(folder)).rejects.toThrow(`umount ${point}`)
    expect(() => realFiles.rmSync(folder, { recursive: true, force: true })).toThrow(`umount ${point}`)
    expect(readFileSync(join(point, 'locked', 'kept.txt'), 'utf8')).toBe('kept')
    expect(statSync(join(point, 'locked')).mode & 0o777).toBe(0o500)
    execFileSync('umount', [point])
    mounted = []
    await removeFolder(folder)
    expect([existsSync(folder), existsSync(join(outside, 'seen'))]).toEqual([false, true])
  },
)

test('a folder with a mount is no obstacle for the folders beside it, and a link to a mount is only a link', async ({
  skip,
}) => {
  const point = join(top, 'r1', 'data')
  put(join(point, 'x'), 'x')
  put(join(top, 'r10', 'x'), 'x')
  if (!mount(point, '-t', 'tmpfs', 'none')) skip('this user may not mount')
  put(join(point, 'kept'), '')
  execFileSync('ln', ['-s', point, join(top, 'r10', 'link')])
  await removeFolder(join(top, 'r10'))
  expect([existsSync(join(top, 'r10')), existsSync(join(point, 'kept'))]).toEqual([false, true])
})
