/** The languages whose syntax a diff colours, by the ends of file names; each grammar is a file of its own that is loaded when it is needed. */

export const languages = {
  typescript: () => import('@shikijs/langs/typescript'),
  tsx: () => import('@shikijs/langs/tsx'),
  json: () => import('@shikijs/langs/json'),
  python: () => import('@shikijs/langs/python'),
  go: () => import('@shikijs/langs/go'),
  rust: () => import('@shikijs/langs/rust'),
  java: () => import('@shikijs/langs/java'),
  c: () => import('@shikijs/langs/c'),
  css: () => import('@shikijs/langs/css'),
  markdown: () => import('@shikijs/langs/markdown'),
  yaml: () => import('@shikijs/langs/yaml'),
  shellscript: () => import('@shikijs/langs/shellscript'),
  sql: () => import('@shikijs/langs/sql'),
  toml: () => import('@shikijs/langs/toml'),
}
export type Language = keyof typeof languages

const ends: Record<Language, string> = {
  typescript: 'ts mts cts js mjs cjs',
  tsx: 'tsx jsx',
  json: 'json jsonc json5',
  python: 'py pyi',
  go: 'go',
  rust: 'rs',
  java: 'java kt kts',
  c: 'c h cc cpp hpp',
  css: 'css',
  markdown: 'md mdx',
  yaml: 'yml yaml',
  shellscript: 'sh bash zsh',
  sql: 'sql',
  toml: 'toml',
}

const byEnd = new Map(
  Object.entries(ends).flatMap(([language, list]) =>
    list.split(' ').map((end) => [end, language as Language] as const),
  ),
)

export const languageOf = (path: string): Language | undefined =>
  byEnd.get(/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? '')
