import { expect, it } from 'vitest'
import { receivedIn } from './received-bytes.ts'

const line = (pid: number, bytes: string): string =>
  `ESTAB 0 0 127.0.0.1:55 127.0.0.1:80 users:(("agent",pid=${pid},fd=20),("helper",pid=9,fd=3)) cubic rto:204 bytes_sent:7 ${bytes} segs_out:3`

it('sums what the connections of these processes received, each connection once', () => {
  const listed = [
    line(1, 'bytes_received:1000'),
    line(2, 'bytes_received:50'),
    line(1, ''),
    line(11, 'bytes_received:9'),
  ].join('\n')
  expect(receivedIn(listed, new Set([1]))).toBe(1000)
  expect(receivedIn(listed, new Set([1, 9]))).toBe(1059)
  expect(receivedIn('', new Set([1]))).toBe(0)
})
