/** Infers checks from a folder or a commit, for goals that name none and for a first configuration. */
import { join } from 'node:path'
import type { FilesOfCommit } from '../../workspace/contents.ts'
import { requirementNames } from '../../recovery/install.ts'
import { readIfFile, type Files } from '../core/files.ts'
import type { HasProgram } from '../core/find-program.ts'
import { defined } from '../../domain/defined.ts'
import { inFolder, isInStack, namesByFolder, notRunBy, type InferredChecks, type Stack } from './infer-below.ts'
import { declaredChecks, inferCommands, isStartable, managerOf, type RepositoryFacts } from './infer-commands.ts'
import { isWorkspaceMember } from './monorepo-packages.ts'

/** Files whose content is read; of all others only the name is used. */
const manifestNames = ['package.json', 'pnpm-workspace.yaml', 'Makefile', 'pyproject.toml', ...requirementNames]

/** Whether the content of this file of a commit decides about checks. */
export const isManifestOfChecks = (path: string): boolean =>
  manifestNames.includes(path.slice(path.lastIndexOf('/') + 1)) && isInStack(path)

const parsed = (text: string | undefined): unknown => {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined // a broken manifest declares no check
  }
}

/** The top as it is in the folder, also uncommitted; below it what the commit has, because only git tells what is no part of the project. */
export const filesOfFolder = (files: Files, root: string, commit: FilesOfCommit): FilesOfCommit => {
  const texts = manifestNames.flatMap((name) => {
    const text = readIfFile(files, join(root, name))
    return text === undefined ? [] : [[name, text] as const]
  })
  const names = files.readdirSync(root)
  const inTests = names
    .filter((name) => /^(tests?|spec)$/.test(name) && files.statSync(join(root, name)).isDirectory())
    .flatMap((name) => files.readdirSync(join(root, name)).map((entry) => `${name}/${entry}`))
  const below = commit.names.filter((path) => path.includes('/'))
  const textsBelow = [...commit.texts].filter(([path]) => path.includes('/'))
  return { names: [...new Set([...names, ...inTests, ...below])], texts: new Map([...textsBelow, ...texts]) }
}

const factsOf = (
  { texts }: FilesOfCommit,
  { folder, names, hasProgram }: { folder: string; names: readonly string[]; hasProgram: HasProgram },
): RepositoryFacts => {
  const textOf = (name: string): string | undefined => texts.get(folder === '' ? name : `${folder}/${name}`)
  const packageJson = parsed(textOf('package.json'))
  const makefile = textOf('Makefile')
  const pyproject = textOf('pyproject.toml')
  return {
    ...{ files: names, hasProgram, requirements: requirementNames.map((name) => textOf(name) ?? '').join('\n') },
    ...defined({ packageJson, makefile, pyproject }),
  }
}

const stacksIn = (found: FilesOfCommit, hasProgram: HasProgram): Stack[] => {
  const byFolder = [...namesByFolder(found.names)]
  const top = factsOf(found, { folder: '', names: byFolder[0]?.[1] ?? [], hasProgram })
  const outerManager = managerOf(top)
  const declared: Stack[] = []
  for (const [folder, names] of byFolder.slice(1)) {
    // The checks of a folder are those of the folders in it as well.
    if (declared.some((outer) => folder.startsWith(`${outer.folder}/`))) continue
    const commands = declaredChecks({ ...factsOf(found, { folder, names, hasProgram }), ...defined({ outerManager }) })
    if (commands.length > 0) declared.push({ folder, commands })
  }
  const startable = declared.flatMap(({ folder, commands }) => {
    const those = commands.filter((command) => isStartable(command, hasProgram))
    return those.length === 0 ? [] : [{ folder, commands: those }]
  })
  return (startable.length > 0 ? startable : declared).map(({ folder, commands }) => ({
    folder,
    commands: commands.map((command) => inFolder(folder, command)),
  }))
}

export const inferChecks = async (found: FilesOfCommit, hasProgram: HasProgram): Promise<InferredChecks> => {
  const top = inferCommands(factsOf(found, { folder: '', names: namesByFolder(found.names).get('') ?? [], hasProgram }))
  const isMember = isWorkspaceMember(found.texts.get('package.json'), found.texts.get('pnpm-workspace.yaml'))
  const read = async (path: string): Promise<string | undefined> => found.texts.get(path)
  return { top, stacks: await notRunBy({ commands: top, read, isMember }, stacksIn(found, hasProgram)) }
}
