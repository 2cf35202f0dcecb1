/** Whether a manifest changed only in what it depends on: packages are part of the work, how it is built and tested is not. Pure. */

const dependencyKeys = new Set([
  ...['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies', 'peerDependenciesMeta'],
  ...[
    'bundleDependencies',
    'bundledDependencies',
    'version',
    'description',
    'keywords',
    'author',
    'license',
    'repository',
    'homepage',
  ],
])

const withoutKeys = (text: string): string | undefined => {
  try {
    const parsed = JSON.parse(text) as Record<string, unknown> | null
    return JSON.stringify(Object.entries(parsed ?? {}).filter(([key]) => !dependencyKeys.has(key)))
  } catch {
    return undefined // a broken manifest is never only its dependencies
  }
}

/** The text without the sections whose header matches. */
const withoutSections = (text: string, header: RegExp): string => {
  let isLeftOut = false
  return text
    .split(/\r?\n/)
    .filter((line) => {
      const head = /^\s*\[{1,2}([^\]]+)\]{1,2}/.exec(line)
      if (head !== null) isLeftOut = header.test((head[1] ?? '').trim())
      return !isLeftOut && line.trim() !== ''
    })
    .join('\n')
}

interface Manifest {
  file: RegExp
  /** What is left without the dependencies; undefined = it cannot be read. */
  rest: (text: string) => string | undefined
}

const manifests: readonly Manifest[] = [
  { file: /(?:^|\/)(?:package|composer)\.json$/, rest: withoutKeys },
  {
    file: /(?:^|\/)Cargo\.toml$/,
    rest: (text) => withoutSections(text, /(?:^|\.)(?:dev-|build-)?dependencies(?:\.|$)|^package$/),
  },
  {
    file: /(?:^|\/)pyproject\.toml$/,
    rest: (text) => withoutSections(text, /^(?:project(?:\..+)?|dependency-groups|tool\.poetry(?:\..*)?)$/),
  },
  {
    file: /(?:^|\/)go\.mod$/,
    rest: (text) => text.replaceAll(/^require\s+(?:\([^)]*\)|[^\n]+)$/gm, '').replaceAll(/\s+/g, ' '),
  },
  {
    file: /(?:^|\/)pom\.xml$/,
    rest: (text) => text.replaceAll(/<dependency>[\s\S]{0,2000}?<\/dependency>/g, '').replaceAll(/\s+/g, ' '),
  },
  {
    file: /(?:^|\/)build\.gradle(?:\.kts)?$/,
    rest: (text) =>
      text
        .replaceAll(/^\s*(?:testI|i)mplementation\b[^\n]*$|^\s*(?:api|runtimeOnly|compileOnly)\b[^\n]*$/gm, '')
        .replaceAll(/\s+/g, ' '),
  },
]

export const listsDependencies = (path: string): boolean => manifests.some(({ file }) => file.test(path))

export const changedDependenciesOnly = (path: string, before: string, after: string): boolean => {
  const manifest = manifests.find(({ file }) => file.test(path))
  const [old, now] = [manifest?.rest(before), manifest?.rest(after)]
  return old !== undefined && old === now
}
