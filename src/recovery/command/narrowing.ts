/**
 * Narrows a check of all packages to those that a change can affect: the changed packages and all that depend on them. Only
 * for a check that cannot run in the other packages. An affected package is never left out. Pure.
 */
import { programOf, type CommandStep } from './command-plan.ts'

export interface WorkspacePackage {
  name: string
  /** Relative to the folder of the workspace's manifest. */
  folder: string
  scripts: readonly string[]
  dependencies: readonly string[]
}

interface Recursive {
  /** Options that make the command run in all packages. */
  everywhere: readonly string[]
  narrowed: (name: string) => string
  run: readonly string[]
  shorthand: readonly string[]
}

const recursive: Readonly<Record<string, Recursive>> = {
  npm: {
    everywhere: ['--workspaces', '-ws', '--workspaces=true'],
    narrowed: (name) => `--workspace=${name}`,
    run: ['run', 'run-script'],
    shorthand: ['test', 't', 'start'],
  },
  pnpm: {
    everywhere: ['-r', '--recursive'],
    narrowed: (name) => `--filter=${name}`,
    run: ['run', 'run-script'],
    shorthand: ['test', 't', 'start'],
  },
}

/** The script that this argv runs in every package; undefined = the argv is not such a command. */
export const recursiveScript = (argv: readonly string[]): string | undefined => {
  const kind = recursive[programOf(argv) ?? '']
  if (kind === undefined || !argv.some((word) => kind.everywhere.includes(word))) return undefined
  const [first, second] = argv.slice(1).filter((word) => !word.startsWith('-'))
  if (first === undefined) return undefined
  if (kind.run.includes(first)) return second
  return kind.shorthand.includes(first) ? first.replace(/^t$/, 'test') : undefined
}

/** Files outside of packages that no check reads. */
const beside = /^(?:[^/]+\.(?:md|mdx|txt|rst|adoc)|LICENSE|NOTICE|CHANGELOG|docs\/.*|\.github\/.*)$/i

const isIn = ({ folder }: WorkspacePackage, path: string): boolean => path.startsWith(`${folder}/`)

/** The packages that these paths can affect; undefined = a path outside of all packages may affect all of them. */
export const affectedPackages = (
  packages: readonly WorkspacePackage[],
  changed: readonly string[],
): WorkspacePackage[] | undefined => {
  const inside = changed.filter((path) => !beside.test(path))
  if (!inside.every((path) => packages.some((each) => isIn(each, path)))) return undefined
  const found = new Set(packages.filter((each) => inside.some((path) => isIn(each, path))))
  for (let before = -1; before !== found.size;) {
    before = found.size
    const names = [...found].map(({ name }) => name)
    for (const each of packages) if (each.dependencies.some((name) => names.includes(name))) found.add(each)
  }
  return [...found]
}

/** The step for the affected packages only; undefined = an affected one lacks the script, or none or all are affected. */
export const narrowStep = (
  step: CommandStep,
  packages: readonly WorkspacePackage[],
  changed: readonly string[],
): CommandStep | undefined => {
  const kind = recursive[programOf(step.argv) ?? '']
  const script = recursiveScript(step.argv)
  const touched = affectedPackages(packages, changed)
  if (kind === undefined || script === undefined || touched === undefined) return undefined
  const left = touched.filter(({ scripts }) => scripts.includes(script))
  // The check was requested for a changed package that lacks the script, so no other package may replace it.
  if (left.length === 0 || left.length < touched.length || left.length === packages.length) return undefined
  const words = step.argv.filter((word) => !kind.everywhere.includes(word))
  return { ...step, argv: [words[0] ?? '', ...left.map(({ name }) => kind.narrowed(name)), ...words.slice(1)] }
}
