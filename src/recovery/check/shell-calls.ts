/**
 * Splits a command line or a shell script into the calls that it may make. Parsing is rough and never fails: a superfluous call
 * only costs reading one more file, but a missing call would hide a part of a check.
 */
export interface ShellCall {
  words: string[]
  /** Relative to the top of the repository; '' = the top. */
  folder: string
}

const maxLength = 16_384
const token = /"((?:\\.|[^"\\])*)"|'([^']*)'|(&&|\|\||[;|&\n()])|([^\s"';|&()]+)/g
const assignment = /^[A-Za-z_]\w*=/

export const lastSegment = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

export const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))

/** Joins paths inside the repository; '' for a path that leads out of it. */
export const joinInRepository = (folder: string, path: string): string => {
  if (path.startsWith('/')) return ''
  const segments: string[] = []
  for (const segment of `${folder}/${path}`.split('/')) {
    if (segment === '..' && segments.pop() === undefined) return ''
    if (segment !== '' && segment !== '.' && segment !== '..') segments.push(segment)
  }
  return segments.join('/')
}

const isShell = (words: readonly string[]): boolean => words.some((word) => /^(?:ba|da|z)?sh$/.test(word))

/** The argument of `sh -c` is a command line itself, and so is a quoted `npm run x` of a tool that starts several commands. */
const innerOf = ({ words, folder }: ShellCall): ShellCall[] =>
  words
    .filter((word) => word.includes(' ') && (isShell(words) || /\b(?:npm|pnpm|yarn|node)\b/.test(word)))
    .flatMap((word) => callsIn(word, folder))

export const callsIn = (line: string, start = ''): ShellCall[] => {
  const calls: ShellCall[] = []
  let folder = start
  let words: string[] = []
  const end = (): void => {
    if (words[0] === 'cd') folder = joinInRepository(folder, words[1] ?? '')
    else if (words.length > 0) calls.push({ words, folder })
    words = []
  }
  for (const [, double, single, operator, bare] of line.slice(0, maxLength).matchAll(token)) {
    const word = double ?? single ?? bare
    if (operator !== undefined) end()
    else if (word !== undefined && !(words.length === 0 && assignment.test(word))) words.push(word)
  }
  end()
  return [...calls, ...calls.flatMap(innerOf)]
}

const valuedOption = (names: RegExp, words: readonly string[]): string[] =>
  words.flatMap((word, at) => {
    const [option = '', ...rest] = word.split('=')
    if (!names.test(option)) return []
    return rest.length > 0 ? [rest.join('=')] : (words[at + 1] ?? [])
  })

/** The folder of the call's manifest or makefile. */
export const folderOf = ({ words, folder }: ShellCall): string =>
  valuedOption(/^(?:-C|--prefix|--cwd|--dir|--directory)$/, words).reduce(joinInRepository, folder)

const interpreter = /^(?:node|bun|deno|tsx|ts-node|python[\d.]*|ruby|php|perl|bash|sh|dash|zsh|pwsh)$/
/** With these options an interpreter only checks a file, or runs none. */
const runsNoFile = /^(?:--check|-c|-n|-m|-e|--eval|-p|--print|-l|--run)$/
const early = /^(?:-r|--require|--import|--loader|--experimental-loader|--env-file)$/
const configuring = /^(?:-c|-p|--\S*(?:config|rcfile|project|setup|ini)\S*)$/

const isPath = (word: string): boolean => /[./]/.test(word) && !word.startsWith('-')

/** Index of the interpreter in a call, after wrappers such as `npx` and `env`; -1 = none. */
const interpreterAt = (words: readonly string[]): number =>
  words.findIndex((word) => interpreter.test(lastSegment(word)))

/** Files of the repository that the call runs: programs, scripts of interpreters and preloaded modules. */
export const filesRunBy = ({ words, folder }: ShellCall): string[] => {
  const at = interpreterAt(words)
  const rest = at === -1 ? [] : words.slice(at + 1)
  const loaded = valuedOption(early, rest)
  const scripts =
    at === -1 || rest.some((word) => runsNoFile.test(word))
      ? []
      : rest.filter((word) => isPath(word) && !loaded.includes(word)).slice(0, rest.includes('--test') ? undefined : 1)
  const program = words[0]?.includes('/') === true && !words[0].includes('node_modules/') ? [words[0]] : []
  return [...program, ...scripts, ...loaded.filter(isPath)]
    .filter((path) => !path.startsWith('/'))
    .map((path) => joinInRepository(folder, path))
    .filter((path) => path !== '')
}

/** Files that an option passes as configuration of the program. */
export const configurationsOf = ({ words, folder }: ShellCall): string[] =>
  valuedOption(configuring, words)
    .filter((word) => isPath(word) && !word.startsWith('/'))
    .map((path) => joinInRepository(folder, path))
    .filter((path) => path !== '')
