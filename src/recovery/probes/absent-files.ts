/**
 * Files that a failed check misses in its clone and that the owner's checkout has, where git ignores them: a clone gets only what is
 * committed. Pure: the caller lists the ignored entries.
 */
import { secretRuleFor } from '../policy/secrets.ts'
import { isArtifact, inEnvironment } from '../diagnosis/refine/match-context.ts'

/** A file, or a folder of which everything is ignored, relative to the repository. */
export interface AbsentFile {
  path: string
  isFolder: boolean
  /** It is copied only if its owner says so: a secret, or the output of a build, which other sources may have made. */
  asks: boolean
}

/** An entry as git lists it: a folder ends with a slash. */
type Entry = string

const mostWords = 20_000
const longestWord = 400

const withoutStart = (word: string): string => word.replace(/^(?:\.{0,2}\/)+/, '')

/** Lines that say that something is not there, in the words of runtimes and tools. */
const saysAbsent =
  /no such file|not found|(?:can ?not|can't|could not|couldn't|unable to|failed to|no) (?:find|open|load|read|resolve|access|module|matching)|ENOENT|missing|(?:does not|doesn't) exist|not set/i

/** The lines of an output that say that something is not there. */
export const missingLines = (output: string): string[] => output.split('\n').filter((line) => saysAbsent.test(line))

/** What may be a path in a line: quoted or bare words, without a position behind them. A module of Python is the path of its file. */
export const pathsIn = (lines: readonly string[], workspace: string): Set<string> => {
  const words = new Set<string>()
  for (const line of lines) {
    for (const [, module = ''] of line.matchAll(/No module named '?([\w.]{1,200})'?/g))
      words.add(`${module.replaceAll('.', '/')}.py`)
    for (const word of line.split(/[\s'"`()<>[\]{},;=|]+/)) {
      if (word === '' || word.length > longestWord) continue
      const inside = word.startsWith(`${workspace}/`) ? word.slice(workspace.length + 1) : word
      const plain = inside.replace(/(?::\d+){1,2}:?$|[:.]+$/, '')
      if (/[./]/.test(plain)) words.add(withoutStart(plain))
    }
    if (words.size > mostWords) break
  }
  return words
}

const withoutExtension = (path: string): string => path.replace(/(?<=[^/])\.[^./]+$/, '')

/** Whether the word names the file: the end of its path, with or without extension, of at least a whole name. */
const namesFile = (word: string, file: string): boolean =>
  word !== '' &&
  ([file, withoutExtension(file)].some((path) => path === word || path.endsWith(`/${word}`)) ||
    (file.includes('/') && word.endsWith(`/${file}`)))

/** Whether the word names something in the folder: `generated/client` is in `src/generated/`. */
const namesInside = (word: string, folder: string): boolean => {
  const parts = folder.split('/')
  return parts.some((_, at) => {
    const end = parts.slice(at).join('/')
    return word === end || word.startsWith(`${end}/`)
  })
}

/** Source code that a tool writes from a description, such as a client of an API: the work seldom changes that. */
const generatedCode = /(?:^|\/)(?:__generated__|generated)(?:\/|$)/

/** Installed packages, which an install brings, and the owner's settings. */
const isNeverCopied = (path: string): boolean => inEnvironment.test(`${path}/`) || /^\.unstuck(?:\/|$)/.test(path)

/** Built by a command, which would make another result of the sources that are checked. */
const isBuilt = (path: string): boolean => !generatedCode.test(path) && (isArtifact(`${path}/`) || isArtifact(path))

/** By convention they hold values for tests, or none. */
const templates = /(?:^|\/)\.env\.(?:test|ci|example|sample|template)$/

/** Whether the name is that of a secret, which is copied into a clone only by the word of its owner. */
export const isSecretFile = (path: string): boolean => secretRuleFor(path) !== undefined && !templates.test(path)

/**
 * The ignored entries that these lines of a check's output name. `isHere`: whether the clone has the path. One whose owner is asked
 * about it counts only where the line says that it is not there.
 */
export const absentFiles = (
  lines: readonly string[],
  { ignored, workspace, isHere }: { ignored: readonly Entry[]; workspace: string; isHere: (path: string) => boolean },
): AbsentFile[] => {
  const words = [...pathsIn(lines, workspace)]
  const missing = [
    ...pathsIn(
      lines.filter((line) => saysAbsent.test(line)),
      workspace,
    ),
  ]
  return ignored.flatMap((entry) => {
    const isFolder = entry.endsWith('/')
    const path = isFolder ? entry.slice(0, -1) : entry
    const asks = isSecretFile(path) || isBuilt(path)
    const isNamed = (asks ? missing : words).some((word) => (isFolder ? namesInside : namesFile)(word, path))
    return isNeverCopied(path) || !isNamed || isHere(path) ? [] : [{ path, isFolder, asks }]
  })
}
