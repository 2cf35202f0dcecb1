/** Facts about the folder in which a check failed. Decisions rest on them, because the output of a check alone can mislead or lie. */
import { dirname, join, relative, resolve, sep } from 'node:path'
import type { Install } from '../../domain/install.ts'
import { withoutStep } from '../../recovery/command/chain.ts'
import { narrowStep, recursiveScript } from '../../recovery/command/narrowing.ts'
import { planCheck } from '../../recovery/command/plan-check.ts'
import { type CommandStep } from '../../recovery/command/command-plan.ts'
import { commandText, watches } from '../../recovery/command/replacement.ts'
import { makeTargetsIn, packageScriptIn } from '../../recovery/command/package-script.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { installsIn } from '../../recovery/install.ts'
import { readIfFile, type Files } from '../core/files.ts'
import { manifestScripts } from './manifest-scripts.ts'
import { packagesIn } from './monorepo-packages.ts'
import type { CheckRequest } from './check-request.ts'
import { defined } from '../../domain/defined.ts'

/** The folder after the `cd` parts of one command. Not ok = it does not exist, or it is outside the workspace. */
export const commandDirectory = (
  files: Files,
  workspace: string,
  moves: string[],
): { ok: true; path: string } | { ok: false; reason: string } => {
  const root = files.realpathSync(workspace)
  let path = root
  for (const move of moves) {
    const next = resolve(path, move)
    if (!files.existsSync(next) || !files.statSync(next).isDirectory())
      return { ok: false, reason: `there is no folder ${move}` }
    path = files.realpathSync(next)
    if (path !== root && !path.startsWith(root + sep))
      return { ok: false, reason: `${move} leads out of the repository` }
  }
  return { ok: true, path }
}

/** The folder where the step's program looks for its manifest; undefined = outside the workspace. */
const manifestFolderOf = (files: Files, workspace: string, step: CommandStep): string | undefined => {
  const directory = packageScriptIn(step.argv)?.directory
  const place = commandDirectory(files, workspace, [...step.cwd, ...(directory === undefined ? [] : [directory])])
  return place.ok ? place.path : undefined
}

/** The package script that the failed step calls, and whether the manifest has it; undefined = nothing is proven. */
const scriptFact = (files: Files, workspace: string, step: CommandStep): ObservedCheck['script'] => {
  const script = packageScriptIn(step.argv)
  const place = manifestFolderOf(files, workspace, step)
  if (script === undefined || place === undefined) return undefined
  const manifest = join(place, 'package.json')
  try {
    const parsed = JSON.parse(files.readFileSync(manifest, 'utf8')) as { scripts?: Record<string, unknown> }
    const exists = typeof parsed.scripts?.[script.script] === 'string'
    // Some package managers run an installed program of that name instead, so a missing script proves nothing.
    if (!exists && script.orProgram === true) return undefined
    return { name: script.script, manifest: relative(files.realpathSync(workspace), manifest), exists }
  } catch {
    return undefined // no manifest or a broken one: nothing is proven about the script
  }
}

/** The text of the package script that a step calls, if it waits for changes of files and so never ends. */
export const watchingScript = (files: Files, workspace: string, step: CommandStep): string | undefined => {
  const script = packageScriptIn(step.argv)
  const place = script === undefined ? undefined : manifestFolderOf(files, workspace, step)
  if (script === undefined || place === undefined) return undefined
  const text = manifestScripts(readIfFile(files, join(place, 'package.json')))[script.script]
  return typeof text === 'string' && watches.test(text) ? text : undefined
}

/** The folders of a step: where it runs, then those of the files that it names. */
const startsOf = (files: Files, workspace: string, step: CommandStep): string[] => {
  const place = manifestFolderOf(files, workspace, step)
  if (place === undefined) return []
  const root = files.realpathSync(workspace)
  const named = step.argv
    .slice(1)
    .map((word) => resolve(place, word))
    .filter((path) => path.startsWith(root + sep) && files.existsSync(path))
  return [place, ...named.map((path) => (files.statSync(path).isDirectory() ? path : dirname(path)))]
}

/** The package managers of the nearest folder that uses one, searched from each start up to the top of the workspace. */
const installsAt = (files: Files, workspace: string, step: CommandStep): Install[] => {
  const root = files.realpathSync(workspace)
  for (const start of startsOf(files, workspace, step)) {
    for (let folder = start; folder.startsWith(root); folder = dirname(folder)) {
      const here = folder
      const found = installsIn(relative(root, here), (name) => readIfFile(files, join(here, name)))
      if (found.length > 0) return found
    }
  }
  return []
}

export const makefiles = ['GNUmakefile', 'makefile', 'Makefile']

/** The targets with a rule in a Makefile; a variable (`test := x`) and a mention in `.PHONY` are none. */
export const ruleTargets = (text: string): string[] =>
  text.split(/\r?\n/).flatMap((line) => /^([^\s#:=][^#:=]*?)[ \t]*::?(?!=)/.exec(line)?.[1]?.split(/\s+/) ?? [])

export const hasRule = (text: string, target: string): boolean => ruleTargets(text).includes(target)

const makeFact = (files: Files, workspace: string, step: CommandStep): ObservedCheck['make'] => {
  const named = makeTargetsIn(step.argv)
  if (named === undefined) return undefined
  const moves = [...step.cwd, ...(named.directory === undefined ? [] : [named.directory])]
  const place = commandDirectory(files, workspace, moves)
  if (!place.ok) return undefined
  const name = (named.file === undefined ? makefiles : [named.file]).find((each) =>
    files.existsSync(join(place.path, each)),
  )
  const text = name === undefined ? '' : (readIfFile(files, join(place.path, name)) ?? '')
  return { makefile: name ?? 'Makefile', missing: named.targets.filter((target) => !hasRule(text, target)) }
}

/** For a check of all packages: the same check for only those packages that the change can affect. */
const narrowedFact = (
  { ports, workspace, changed }: CheckLocation,
  command: string,
  step: CommandStep,
): string | undefined => {
  const plan = planCheck(command)
  const place = manifestFolderOf(ports.files, workspace, step)
  if (changed === undefined || place === undefined || !plan.ok || recursiveScript(step.argv) === undefined)
    return undefined
  const packages = packagesIn(ports.files, place)
  const top = relative(ports.files.realpathSync(workspace), place)
  // A path outside this folder belongs to none of its packages and may affect all of them.
  const paths = changed.map((path) => relative(top, path))
  const narrow = packages === undefined ? undefined : narrowStep(step, packages, paths)
  if (narrow === undefined) return undefined
  const isThis = (each: CommandStep): boolean => JSON.stringify(each) === JSON.stringify(step)
  return commandText(plan.steps.map((each) => (isThis(each) ? narrow : each)))
}

/**
 * The missing file or folder in a command such as `node file.js` or `node --test spec/`. After an option the meaning of an argument
 * is unknown, so the search ends there. A word without extension and slash may be a sub-command.
 */
export const missingFileIn = (files: Files, workspace: string, { argv, cwd }: CommandStep): string | undefined => {
  const place = commandDirectory(files, workspace, cwd)
  const named = argv.slice(1).filter((word) => word !== '--test')
  const [file = ''] = named
  if (!place.ok || !/^[\w@./-]+(?:\.\w+|\/)$/.test(file) || file.startsWith('-')) return undefined
  const path = resolve(place.path, file)
  return path.startsWith(files.realpathSync(workspace) + sep) && !files.existsSync(path) ? file : undefined
}

export type CheckLocation = Pick<CheckRequest, 'ports' | 'workspace' | 'changed'>

export const checkFacts = (
  place: CheckLocation,
  command: string,
  step: CommandStep | undefined,
): Pick<ObservedCheck, 'script' | 'installs' | 'make' | 'narrowed' | 'rest' | 'missingFile'> => {
  if (step === undefined) return {}
  const { files } = place.ports
  const script = scriptFact(files, place.workspace, step)
  const make = makeFact(files, place.workspace, step)
  const narrowed = narrowedFact(place, command, step)
  const rest = withoutStep(command, step)
  const missing = missingFileIn(files, place.workspace, step)
  return {
    ...defined({ rest, missingFile: missing }),
    installs: installsAt(files, place.workspace, step),
    ...defined({ script, make, narrowed }),
  }
}
