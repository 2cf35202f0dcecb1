/**
 * An agent without a protocol that prints the given numbers of megabytes: in lines, in one line, and in lines on standard
 * error. Then it does its work. It waits for a slow reader. Usage: flood.ts <lines> <one line> <standard error> [--answer FILE] … <prompt>
 */
import { writeSync } from 'node:fs'
import { applyWork } from './scripted-work.ts'

const megabyte = Buffer.from(`${'x'.repeat(99)}\n`.repeat(10_000))

const write = (stream: 1 | 2, bytes: Buffer, times: number): void => {
  for (let sent = 0; sent < times; sent += 1) for (let at = 0; at < bytes.length;) at += writeSync(stream, bytes, at)
}

const [lines, line, errors] = process.argv.slice(2, 5).map(Number) as [number, number, number]
writeSync(1, 'first line\n')
write(1, megabyte, lines)
if (line > 0) {
  write(1, Buffer.from('y'.repeat(1_000_000)), line)
  writeSync(1, '\n')
}
write(2, megabyte, errors)
writeSync(1, 'last line\n')
applyWork()
