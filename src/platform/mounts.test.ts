import { expect, test } from 'vitest'
import { mountPointsIn } from './mounts.ts'

const info = ['/', '/state', '/state/runs/r1/work\\040space/data', '/state/runs/r10', '/home'].map(
  (path, index) => `${index} 1 8:1 / ${path} rw,relatime shared:1 - ext4 /dev/sda1 rw`,
)

test.each([
  ['/state/runs/r1', ['/state/runs/r1/work space/data']],
  ['/state/runs/r10', ['/state/runs/r10']],
  ['/state/runs/r2', []],
  ['/hom', []],
])('mount points at and below %s', (folder, expected) => {
  expect(mountPointsIn(info.join('\n'), folder)).toEqual(expected)
})
