import { expect, it } from 'vitest'
import { peersIn } from './unix-peer.ts'

it('finds the client of each connection by the inodes of both ends', () => {
  const output = [
    'u_str ESTAB 0      0      /tmp/with space/run/.s.PGSQL.5432 700 * 701 users:(("postgres",pid=20,fd=11))',
    'u_str ESTAB 0      0      * 701 * 700      users:(("node",pid=30,fd=26),("node",pid=31,fd=26))   ',
    'u_str ESTAB 0      0      /tmp/with space/run/.s.PGSQL.5432 702 * 703 users:(("postgres",pid=21,fd=11))',
    'u_str ESTAB 0      0      * 703 * 702',
    'u_str ESTAB 0      0      * 900 * 0      users:(("sleep",pid=40,fd=1))',
  ].join('\n')
  expect(peersIn(output, new Set([20, 21]))).toEqual(
    new Map([
      [20, [30, 31]],
      [21, []],
    ]),
  )
})
