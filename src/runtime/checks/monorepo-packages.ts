/** The packages of a monorepo, as the manifest of its top folder lists them. */
import { join } from 'node:path'
import type { WorkspacePackage } from '../../recovery/command/narrowing.ts'
import { parsePathRule, pathMatcher } from '../../recovery/policy/path-rule.ts'
import { readIfFile, type Files } from '../core/files.ts'

interface Manifest {
  name?: unknown
  scripts?: Record<string, unknown>
  workspaces?: unknown
  [group: string]: unknown
}

const parsedManifest = (text = ''): Manifest | undefined => {
  try {
    return (JSON.parse(text) as Manifest | null) ?? undefined
  } catch {
    return undefined // no package, or a manifest that no package manager can read either
  }
}

const manifestOf = (files: Files, folder: string): Manifest | undefined =>
  parsedManifest(readIfFile(files, join(folder, 'package.json')))

/** The list below `packages:`; undefined for any other form. */
const pnpmPatterns = (text: string | undefined): string[] | undefined => {
  const list = /^packages:[ \t]*\n((?:[ \t]*-[^\n]*\n?)+)/m.exec(text ?? '')?.[1]
  return list
    ?.split('\n')
    .map((line) => line.replace(/^[ \t]*-[ \t]*/, '').replace(/^['"]|['"][ \t]*$/g, ''))
    .filter((line) => line !== '')
}

const patternsOf = (manifest: Manifest | undefined, pnpm: string | undefined): string[] | undefined => {
  const { workspaces } = manifest ?? {}
  const listed = Array.isArray(workspaces) ? workspaces : (workspaces as { packages?: unknown } | undefined)?.packages
  if (!Array.isArray(listed)) return pnpmPatterns(pnpm)
  return listed.every((each) => typeof each === 'string') ? listed : undefined
}

/** Whether a folder is a package of the workspace whose package.json and pnpm-workspace.yaml these are. */
export const isWorkspaceMember = (
  manifest: string | undefined,
  pnpm: string | undefined,
): ((folder: string) => boolean) => {
  const patterns = patternsOf(parsedManifest(manifest), pnpm) ?? []
  const rules = patterns.map((pattern) => parsePathRule(pattern)).flatMap((each) => (each.ok ? [each.rule] : []))
  const matchers = rules.map(pathMatcher)
  return (folder) => matchers.some((matches) => matches(folder))
}

/** Folders of `a/b` and `a/*`; undefined for any other pattern, which could match packages that are not found here. */
const foldersOf = (files: Files, top: string, pattern: string): string[] | undefined => {
  const plain = pattern.replace(/^\.\//, '').replace(/\/$/, '')
  if (/^[\w@.-]+(?:\/[\w@.-]+)*$/.test(plain)) return [plain]
  const parent = /^([\w@.-]+(?:\/[\w@.-]+)*)\/\*$/.exec(plain)?.[1]
  if (parent === undefined) return undefined
  return files.existsSync(join(top, parent))
    ? files.readdirSync(join(top, parent)).map((name) => `${parent}/${name}`)
    : []
}

const groups = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies']

/** All packages; undefined = not all of them can be found, so a check must not be narrowed. */
export const packagesIn = (files: Files, top: string): WorkspacePackage[] | undefined => {
  const pnpm = readIfFile(files, join(top, 'pnpm-workspace.yaml'))
  const found = patternsOf(manifestOf(files, top), pnpm)?.map((pattern) => foldersOf(files, top, pattern))
  if (found === undefined || found.some((folders) => folders === undefined)) return undefined
  return [...new Set(found.flatMap((folders) => folders ?? []))].flatMap((folder) => {
    const manifest = manifestOf(files, join(top, folder))
    if (manifest === undefined || typeof manifest.name !== 'string') return []
    const dependencies = groups.flatMap((group) => Object.keys((manifest[group] as object | undefined) ?? {}))
    return [{ name: manifest.name, folder, scripts: Object.keys(manifest.scripts ?? {}), dependencies }]
  })
}
