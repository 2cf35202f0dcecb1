/**
 * An agent without a protocol that starts a process in a separate session, prints its pid, does its work and exits.
 * Usage: detach.ts [--hold-pipe] [--stay] [--answer FILE] … <prompt>
 * `--hold-pipe`: the started process keeps our output open. `--stay`: the agent does not exit.
 */
import { spawn } from 'node:child_process'
import { applyWork } from './scripted-work.ts'

const given = process.argv.slice(2)
const child = spawn('sleep', ['300'], { detached: true, stdio: given.includes('--hold-pipe') ? 'inherit' : 'ignore' })
child.unref()
process.stdout.write(`${child.pid}\n`)
applyWork()
if (given.includes('--stay')) setInterval(() => {}, 1000)
