/** Used by all benchmarks: runs a program to its end and takes the median, so that one slow run does not change the result. */
import { spawn } from 'node:child_process'

export interface Finished {
  ms: number
  code: number | null
  stdout: string
}

export const runTimed = (argv: string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}): Promise<Finished> =>
  new Promise((resolve, reject) => {
    const [program = '', ...rest] = argv
    const begun = performance.now()
    const child = spawn(program, rest, { ...options, stdio: ['ignore', 'pipe', 'inherit'] })
    let stdout = ''
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.once('error', reject)
    child.once('close', (code) => resolve({ ms: performance.now() - begun, code, stdout }))
  })

export const median = (values: number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** Alternates between the measurements, so that a slow moment of the machine affects all of them. */
export const alternate = async <Name extends string>(
  rounds: number,
  measures: Record<Name, () => Promise<number>>,
): Promise<Record<Name, number>> => {
  const names = Object.keys(measures) as Name[]
  const found = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) found[name].push(await measures[name]())
  }
  return Object.fromEntries(names.map((name) => [name, median(found[name])])) as Record<Name, number>
}

export const printResult = (bench: string, figures: Record<string, number | string>): void => {
  const rounded = Object.entries(figures).map(([key, value]) => [
    key,
    typeof value === 'number' ? Math.round(value * 100) / 100 : value,
  ])
  process.stdout.write(`${JSON.stringify({ bench, ...Object.fromEntries(rounded) })}\n`)
}
