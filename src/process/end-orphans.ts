/**
 * Ends the processes that a killed supervisor left behind. It is a program of its own; `guard.ts` starts it.
 * Usage: end-orphans.ts <marker> <mark, may be empty> [<leader's pid> <its start time>]
 */
import { releaseMark } from '../platform/mark.ts'
import { startTimeOf } from '../platform/process.ts'
import { createTree } from './find.ts'
import { endTree } from './end-tree.ts'

const graceMs = 5_000

const [marker = '', mark = '', pid, startTime] = process.argv.slice(2)
// The pid may have been reused; the marker in the environment is unique.
const now = pid === undefined ? undefined : startTimeOf(Number(pid))
const leader = pid === undefined || (now !== undefined && now !== startTime) ? undefined : Number(pid)
if (marker !== '') await endTree(createTree(marker, leader, { marks: [mark] }), graceMs)
releaseMark(mark)
