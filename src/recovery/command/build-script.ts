/**
 * Finds package scripts and make targets that may produce ignored files such as `dist` or generated code, by their names. Pure:
 * src/runtime/run/try-build.ts tries them to see which one helps.
 */
import { shellQuoted, watches } from './replacement.ts'

const builds = /^(?:build|compile|bundle|dist|build:(?:all|lib|libs|prod|production|ts|js|src|packages))$/
const generators =
  /^(?:codegen|generate|gen|protos?|(?:codegen|generate|gen):(?!watch|docs)[\w:-]+|[\w-]+:(?:generate|codegen|gen))$/
/** Package managers run these by themselves when a package is installed from git. */
const lifecycle = /^(?:prepare|prepack|prebuild)$/

const generated = /generat|codegen|\bgen\b|prisma|proto|_pb|\.pb\.|graphql|openapi|swagger/i

/** Names in the order in which they are tried. */
const ranked = (names: readonly string[], evidence: string): string[] => {
  const kinds = generated.test(evidence) ? [generators, builds, lifecycle] : [builds, generators, lifecycle]
  return kinds.flatMap((kind) => names.filter((name) => kind.test(name)))
}

export interface BuildSources {
  /** The line that names what is missing. */
  evidence: string
  /** Folder of the manifest, relative to the top of the workspace; empty = the top. */
  folder: string
  /** The package manager of the folder. */
  manager: string
  /** Scripts of the manifest now and on the base commit: work must not be built by a script of its own. */
  scripts: { now: Readonly<Record<string, unknown>>; base: Readonly<Record<string, unknown>> }
  /** Names of make targets at the top that the work did not change. */
  targets: readonly string[]
  /** All checks of the run. */
  plan: readonly string[]
}

/** Command lines, best first. None that is a check of the plan already. */
export const buildCommands = ({ evidence, folder, manager, scripts, targets, plan }: BuildSources): string[] => {
  const { now, base } = scripts
  const isOwners = (name: string): boolean => {
    const text = now[name]
    return typeof text === 'string' && text.trim() !== '' && text === base[name] && !watches.test(text)
  }
  const moved = folder === '' ? '' : `cd ${shellQuoted(folder)} && `
  const run = (name: string): string => `${moved}${manager} run ${shellQuoted(name)}`
  const commands = [
    ...ranked(Object.keys(now).filter(isOwners), evidence).map(run),
    ...ranked(targets, evidence).map((name) => `make ${name}`),
  ]
  return commands.filter((command) => !plan.includes(command))
}
