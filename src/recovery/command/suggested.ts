/**
 * Validates a command that a model suggests instead of one that cannot run. It is accepted only if everything it starts is in
 * the base commit (a package script or make target that is named like a check, a file) or was requested before (the same
 * program), so a model cannot add a command of its own. Pure: the result lists what the runtime has to look up.
 */
import { programName, readCommand } from '../diagnosis/argv.ts'
import { planCommand, programOf, type CommandStep } from './command-plan.ts'
import { commandText, namesCheck } from './replacement.ts'
import { makeTargetsIn, packageScriptIn } from './package-script.ts'
import { defined } from '../../domain/defined.ts'

/** What the base commit must contain; paths are relative to its top. */
export type RequiredInBase =
  | { kind: 'script'; manifest: string; name: string }
  | { kind: 'target'; folder: string; file?: string; targets: string[] }
  | { kind: 'file'; path: string }

export type SuggestedCommand = { ok: true; command: string; needs: RequiredInBase[] } | { ok: false; reason: string }

type Read = RequiredInBase[] | string

/** Options with which a runner succeeds without checking anything. */
const hollow =
  /^(?:-h|-V|--help|--version|--list|--listTests|--list-tests|--collect-only|--co|--dry-run|--no-run|--passWithNoTests|--pass-with-no-tests|--if-present|--print-config|--showConfig|--init|--exit-zero|--no-fail|--ignore-scripts|--fix|--write)(?:=|$)/

const interpreters = new Set(['node', 'python', 'python3', 'ruby', 'php', 'perl', 'bash', 'sh', 'deno', 'bun', 'tsx'])

/** The path relative to the top of the repository; undefined = it leads out of the repository. */
const pathOf = (folders: readonly string[], name: string): string | undefined => {
  const parts: string[] = []
  for (const part of [...folders, name].join('/').split('/')) {
    if (part === '..' && parts.pop() === undefined) return undefined
    if (part !== '' && part !== '.' && part !== '..') parts.push(part)
  }
  return name.startsWith('/') || folders.some((folder) => folder.startsWith('/')) ? undefined : parts.join('/')
}

const fileNeed = (step: CommandStep, name: string): Read => {
  const path = pathOf(step.cwd, name)
  return path === undefined || path === '' ? `${name} is not a file of the repository` : [{ kind: 'file', path }]
}

/** A repository also has scripts that publish, deploy or clean up, so existence alone does not make a script a check. */
const notACheck = (name: string): string => `"${name}" is not the name of a check`

const ofScript = (step: CommandStep): Read | undefined => {
  const script = packageScriptIn(step.argv)
  if (script === undefined) return undefined
  if (!namesCheck(script.script)) return notACheck(script.script)
  const folders = [...step.cwd, ...(script.directory === undefined ? [] : [script.directory])]
  const manifest = pathOf(folders, 'package.json')
  return manifest === undefined
    ? 'its package is outside of the repository'
    : [{ kind: 'script', manifest, name: script.script }]
}

const ofTarget = (step: CommandStep): Read | undefined => {
  const make = makeTargetsIn(step.argv)
  if (make === undefined) return undefined
  if (step.argv.some((word) => word.includes('='))) return 'it sets variables of make'
  const other = make.targets.find((target) => !namesCheck(target))
  if (other !== undefined) return notACheck(other)
  const folder = pathOf(step.cwd, make.directory ?? '.')
  if (folder === undefined) return 'its makefile is outside of the repository'
  return [{ kind: 'target', folder, targets: make.targets, ...defined({ file: make.file }) }]
}

/** An interpreter must run a file of the repository, not code on the command line. */
const ofInterpreter = (step: CommandStep): Read | undefined => {
  const program = programOf(step.argv) ?? ''
  if (!interpreters.has(program)) return undefined
  const rest = step.argv.slice(1)
  if (program === 'node' && rest[0] === '--test') {
    const files = rest
      .slice(1)
      .map((word) => (word.startsWith('-') ? `${word} is not understood` : fileNeed(step, word)))
    const refused = files.find((read) => typeof read === 'string')
    return (
      refused ?? (files.length === 0 ? 'it names no file' : files.flat().filter((need) => typeof need !== 'string'))
    )
  }
  const [file] = rest
  return file === undefined || file.startsWith('-')
    ? `${program} starts no file of the repository`
    : fileNeed(step, file)
}

/** Programs that only check, and those that do so with one of these subcommands. A model may suggest no other program. */
const judging =
  /^(?:vitest|jest|mocha|ava|tap|playwright|cypress|eslint|oxlint|biome|prettier|stylelint|tsc|vue-tsc|svelte-check|pytest|tox|nox|ruff|mypy|pyright|flake8|pylint|rspec|rubocop|phpunit|pest|phpstan|golangci-lint|gotestsum|shellcheck)$/
const judgingWith: Readonly<Record<string, RegExp>> = {
  cargo: /^(?:test|check|clippy|build|nextest)$/,
  go: /^(?:test|vet|build)$/,
  mvn: /^(?:test|verify|compile)$/,
  gradle: /^(?:test|check|build)$/,
  dotnet: /^(?:test|build)$/,
}

const judgesOnly = ([program = '', word = '']: readonly string[]): boolean =>
  judging.test(programName(program)) || judgingWith[programName(program)]?.test(word) === true

/** The program of the requested command with other arguments, if it only checks. */
const ofAsked = (step: CommandStep, failed: string): Read => {
  const { programs, argvs } = readCommand(commandText([{ ...step, cwd: [] }]))
  const asked = readCommand(failed).programs
  const last = argvs.at(-1) ?? []
  return judgesOnly(last) && programs.every((name) => asked.includes(name))
    ? []
    : `${step.argv[0] ?? ''} is neither a script of the base commit nor the program of the original command`
}

const needsOf = (step: CommandStep, failed: string): Read => {
  const word = step.argv.find((each) => hollow.test(each))
  if (word !== undefined) return `with ${word} it would check nothing`
  if (Object.keys(step.env).length > 0) return 'it sets a variable'
  const read = ofScript(step) ?? ofTarget(step) ?? ofInterpreter(step)
  if (read !== undefined) return read
  const [program = ''] = step.argv
  if (program.includes('/')) return fileNeed(step, program)
  return ofAsked(step, failed)
}

/** The single line of a model's reply: alone, or in one code block. */
const lineOf = (answer: string): string | undefined => {
  const block = /```\w*\n([\s\S]*?)```/.exec(answer)?.[1] ?? answer
  const lines = block.split(/\r?\n/).flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
  const [line] = lines
  return line === undefined || lines.length > 1 ? undefined : line.replace(/^`(.*)`$/, '$1').replace(/^\$ /, '')
}

/** Whether the reply `answer` may replace the command `failed`, and what the base commit must contain for that. */
export const readSuggestion = (answer: string, failed: string): SuggestedCommand => {
  const command = lineOf(answer.slice(0, 20_000))
  if (command === undefined) return { ok: false, reason: 'the reply is not a single command' }
  const plan = planCommand(command)
  if (!plan.ok) return { ok: false, reason: `it cannot be run without a shell (${plan.piece}: ${plan.reason})` }
  if (command === failed) return { ok: false, reason: 'it is the same command' }
  const reads = plan.steps.map((step) => needsOf(step, failed))
  const refused = reads.find((read) => typeof read === 'string')
  if (refused !== undefined) return { ok: false, reason: refused }
  return { ok: true, command, needs: reads.flat().filter((need) => typeof need !== 'string') }
}
