/** One word per thing: no two files export the same name, and files that share a base name are about the same subject. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { repositoryRoot as root } from '../../scripts/root.ts'

const files = execFileSync('git', ['ls-files', 'src', 'dashboard', 'sim'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file))

/** Files, grouped by a key; only the groups with more than one file. */
const sharedBy = (keysOf: (file: string) => string[]): string[] => {
  const groups = new Map<string, string[]>()
  for (const file of files) for (const key of keysOf(file)) groups.set(key, [...(groups.get(key) ?? []), file])
  return [...groups].filter(([, group]) => group.length > 1).map(([key, group]) => `${key}: ${group.join(', ')}`)
}

/** Each command declares itself with `register`, and each migration is a `migration`: one meaning in many files. */
const repeated = new Set(['register', 'migration'])

test('no two files export the same name', () => {
  const declaration = /^export (?:declare )?(?:const|let|async function|function|class|interface|type) (\w+)/gm
  const exportsOf = (file: string): string[] =>
    [...readFileSync(join(root, file), 'utf8').matchAll(declaration)]
      .flatMap(([, name]) => name ?? [])
      .filter((name) => !repeated.has(name))
  expect(sharedBy(exportsOf)).toEqual([])
})

/** Names that several files share because they handle one subject on different layers, or one tool (`git`, `go`, …). */
const subjects = new Set(
  `account agent answer approve ask change-size classify client command commit completion config demo diff dispatch doctor edit engine escalation
    event-stream events exec explain feedback git go goal grants harness inbox install issue judge-switch judgement land launch link login logins logs main merge node notification
    notify overview path-grant playbook policy preflight proposal python recovery-proposal requeue requirements rework restore run run-log schedule service stop supervise take-over task up
    views`.split(/\s+/),
)

test('files that share a name are about the same subject', () => {
  const nameOf = (file: string): string[] => [basename(file).replace(/\.tsx?$/, '')]
  const folders = (group: string): string => group.slice(0, group.indexOf(':'))
  const shared = sharedBy((file) => (file.startsWith('dashboard/parts/') ? [] : nameOf(file)))
  expect(shared.filter((group) => !subjects.has(folders(group)))).toEqual([])
})
