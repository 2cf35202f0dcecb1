/**
 * Measures the accuracy of the failure classifier on the labelled corpus, and its speed compared with a plain split of the
 * same text. `--leave-out <tool>` (or `all`) judges the entries of a tool without the rules that name it as their source.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { classify, type Classification } from '../src/recovery/diagnosis/classify.ts'

interface Entry {
  id: string
  command: string
  tool: string
  exit_code: number | null
  signal: string | null
  stdout: string
  stderr: string
  label: string
  failure_code: string
  is_infra: boolean
  expected_recovery: { kind: string; alternatives: string[] }
  confuser: boolean
  plan?: string[]
  plan_index?: number
}

interface Judged {
  entry: Entry
  found: Classification
}

const entries = readFileSync(join(import.meta.dirname, '..', 'test', 'fixture', 'corpus', 'failures-dev.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Entry)

const judge = (entry: Entry, without?: string): Judged => {
  const { command, exit_code: exitCode, signal, stdout, stderr, plan, plan_index: planIndex } = entry
  const place = plan === undefined || planIndex === undefined ? {} : { plan, planIndex }
  const failure = { command, exitCode, signal, stdout, stderr, ...place }
  return { entry, found: classify(failure, without === undefined ? {} : { without }) }
}

const finer: Record<string, string[]> = {
  permission_or_auth_failure: ['permission_denied', 'auth_failure'],
  timeout: ['timeout'],
}
const right = {
  label: ({ entry, found }: Judged) => found.label === entry.label,
  code: ({ entry, found }: Judged) =>
    found.failureCode === entry.failure_code || (finer[found.failureCode]?.includes(entry.label) ?? false),
  infra: ({ entry, found }: Judged) => found.isInfra === entry.is_infra,
  recovery: ({ entry, found }: Judged) =>
    [entry.expected_recovery.kind, ...entry.expected_recovery.alternatives].includes(found.recoveryKind),
}

const share = (judged: Judged[], is: (one: Judged) => boolean): string => {
  const count = judged.filter(is).length
  return `${((100 * count) / Math.max(1, judged.length)).toFixed(1)} % (${count}/${judged.length})`
}

const report = (title: string, judged: Judged[]): void => {
  process.stdout.write(`${title}\n`)
  for (const [name, is] of Object.entries(right)) process.stdout.write(`  ${name.padEnd(10)}${share(judged, is)}\n`)
  process.stdout.write(
    `  confusers ${share(
      judged.filter(({ entry }) => entry.confuser),
      right.label,
    )}\n`,
  )
}

const listWrong = (judged: Judged[]): void => {
  for (const one of judged) {
    const bad = Object.entries(right)
      .filter(([, is]) => !is(one))
      .map(([name]) => name)
    if (bad.length === 0) continue
    const { entry, found } = one
    process.stdout.write(
      `  ${entry.id} ${entry.tool}: ${entry.label} taken for ${found.label} (${found.ruleId}; ${bad.join(', ')}; ${found.recoveryKind}) ${found.evidence.slice(0, 120)}\n`,
    )
  }
}

const perLabel = (judged: Judged[]): void => {
  for (const label of [...new Set(judged.map(({ entry }) => entry.label))].sort())
    process.stdout.write(
      `  ${label.padEnd(30)}${share(
        judged.filter(({ entry }) => entry.label === label),
        right.label,
      )}\n`,
    )
}

/** A log like that of a build, with the cause in the middle. */
const longLog = (bytes: number): string => {
  const rows: string[] = []
  for (let index = 0, size = 0; size < bytes; index += 1) {
    const row = `[${index}] Compiling module ${(index * 7919) % 10_007} of acme-app: warnings 0, cached ${index % 3}, src/part-${index % 97}/file.ts`
    rows.push(row)
    size += row.length + 1
  }
  rows.splice(rows.length / 2, 0, "Error: Cannot find module 'left-pad'")
  return rows.join('\n')
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

const measure = (work: () => unknown): number => {
  const times: number[] = []
  for (let round = 0; round < 15; round += 1) {
    const start = performance.now()
    work()
    times.push(performance.now() - start)
  }
  return median(times)
}

const speed = (): void => {
  const text = longLog(5 * 1024 * 1024)
  const failure = { command: 'npm run build', exitCode: 1, signal: null, stdout: text, stderr: '' }
  const splitMs = measure(() => text.split('\n').length)
  const classifyMs = measure(() => classify(failure))
  process.stdout.write(
    `5 MB of log: ${classifyMs.toFixed(1)} ms (target 50), a plain split of it ${splitMs.toFixed(1)} ms, ratio ${(classifyMs / splitMs).toFixed(2)}, label ${classify(failure).label}\n`,
  )
}

const at = process.argv.indexOf('--leave-out')
const tool = at === -1 ? undefined : process.argv[at + 1]
if (tool === undefined) {
  const judged = entries.map((entry) => judge(entry))
  report('corpus', judged)
  listWrong(judged)
  speed()
} else {
  const chosen = entries.filter((entry) => tool === 'all' || entry.tool === tool)
  const judged = chosen.map((entry) => judge(entry, entry.tool))
  report(`each of ${new Set(chosen.map((entry) => entry.tool)).size} tool(s) left out in turn`, judged)
  perLabel(judged)
  if (process.argv.includes('--list') || tool !== 'all') listWrong(judged)
}
