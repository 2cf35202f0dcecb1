/**
 * Changes what tests expect, so that they have to fail: a check that passes all the same does not depend on them any more. What the
 * product does in the test's own process can bring that about (it replaces an assertion, ends the program, prints a result), and neither
 * the files of the tests nor the number of them shows it. Pure.
 */
import { readMakefile } from '../check/makefile.ts'
import { testFamilies } from '../test-families.ts'
import { brokenText } from './break-source.ts'

export interface Altered {
  text: string
  /** A value changed that something is compared with, so that a test has to fail if it runs. */
  exact: boolean
  /** The file with its tests broken, so that a check fails if it runs them at all. Absent where that cannot be written. */
  broken?: string
}

const literal = /(["'])((?:(?!\1)[^\\\n]){0,200})\1|(?<![\w.])\d{1,15}(?:\.\d{1,15})?(?![\w.])/g
/** Of the shell too, where one `=` with spaces compares. */
const comparison = /[=!]==?(?!=)|\s-(?:eq|ne)\s|(?:\[|\btest\b)[^\n]*?\s=\s/g
/** What a shell compares with, which needs no quotes there: behind an operator, or as the pattern of grep. */
const shellWord =
  /(\s(?:==?|!=|-eq|-ne)\s+|\bgrep(?:\s+-[a-uw-zA-Z]+)*\s+)(?:(["'])((?:(?!\2)[^\\\n/$`]){1,200})\2|((?!-)[\w.:@%+^-]{1,200}))(?=[\s;)\]|&"']|$)/g
const exactCall = /equal|\beq\b|same|toBe\(|deep/i
const loads =
  /^\s*(?:import|from|export|use|using|require|include|#include|package|source|\.)\b|\brequire\s?\(|\bimport\s?\(/
const blank = (text: string): string => text.replace(/[^\n]/g, ' ')

const otherValue = (value: string): string => {
  if (/^["']/.test(value)) return `${value.slice(0, -1)}z${value.slice(-1)}`
  return /\d$/.test(value) ? `${value.slice(0, -1)}${(Number(value.at(-1)) + 1) % 10}` : `${value}z`
}

/** A line that a shell reads. Undefined = it compares nothing. */
const alterShell = (line: string): string | undefined => {
  const altered = line.replace(shellWord, (whole, before: string) => before + otherValue(whole.slice(before.length)))
  return altered === line ? undefined : altered
}

/** Behind the last comparison the first literal, else the last of the line: calls name what is expected last. */
const alterLine = (line: string, visible: string, mayLoad = false): Altered => {
  // Paths are what a test loads, a text with values of its own is not what it seems, and how a program ends is no expectation.
  const isStatus = (text: string): boolean => /^[01]$/.test(text) && /\b(?:return|exit)\b/i.test(visible)
  const found = [...visible.matchAll(literal)].filter(([text]) => !/[/$`]/.test(text) && !isStatus(text))
  const compared = [...visible.matchAll(comparison)].at(-1)
  const behind = compared === undefined ? -1 : compared.index + compared[0].length
  const chosen = (compared === undefined ? undefined : found.find(({ index }) => index >= behind)) ?? found.at(-1)
  if (chosen === undefined || (!mayLoad && loads.test(visible))) return { text: line, exact: false }
  const end = chosen.index + chosen[0].length
  return {
    text: `${line.slice(0, chosen.index)}${otherValue(chosen[0])}${line.slice(end)}`,
    exact: (compared !== undefined && chosen.index >= behind) || exactCall.test(visible),
  }
}

const isPlain = /\.txt$/
const isShell = /\.(?:sh|bash|zsh|bats)$/
const hasLiterals =
  /\.(?:[cm]?[jt]sx?|py|go|rs|java|kt|rb|php|sh|bash|bats|ex|exs|json|ya?ml|snap|cs|swift|scala|pl|t|c|cc|cpp)$/

/**
 * What breaks a test of Go. An initialiser of the work runs before any of the test and could end the program, so the test must not
 * compile. A linter stops at it as well; only what `go test` prints shows that the tests would run.
 */
export const uncompilable = 'unstuckBrokenOnPurpose'

/** A test ends before it loads the work, which could end the program first. */
const brokenTest = (path: string, text: string): string | undefined =>
  path.endsWith('.go')
    ? `${text}\nvar _ = ${uncompilable}\n`
    : (brokenText(path, text, 'early') ?? brokenText(path, text))

const withBroken = (path: string, text: string, altered: Altered): Altered => {
  const broken = brokenTest(path, text)
  return broken === undefined ? altered : { ...altered, broken }
}

/** A program that a line of a shell holds. */
const inlineProgram = /(\s-(?:e|c|p|pe)\s+)(["'])([^\n]{1,2000})\2/
const ignoresFailure = /\|\|\s*(?:true|:)(?:\s|$)/
const isCondition = /^\s*(?:if|while|until|case|elif|for)\b/
const ends = /\b(?:exit\s+[1-9]|false)\b/

/** A call of a function that compares: its first argument is a title where more than two are given. */
const shellAssertion =
  /^(\s*)((?:assert|expect|check|is|ok)\w*|\w*(?:equals?|same|eq))((?:\s+(?:"(?:[^"\\]|\\.){0,400}"|'[^']{0,400}'|[^\s"';|&]{1,400})){2,8})\s*$/
const shellArgument = /\s+("(?:[^"\\]|\\.){0,400}"|'[^']{0,400}'|[^\s"';|&]{1,400})/g

const alterAssertion = (line: string): string | undefined => {
  const [, indent = '', name = '', rest = ''] = shellAssertion.exec(line) ?? []
  const given = [...rest.matchAll(shellArgument)].map(([, text = '']) => text)
  const from = given.length > 2 ? 1 : 0
  const altered = given.map((text, index) => (index < from || /[/$`]/.test(text) ? text : otherValue(text)))
  const next = `${indent}${[name, ...altered].join(' ')}`
  return name === '' || altered.join() === given.join() ? undefined : next
}

const fails = /\b(?:exit|return)\s+[1-9]|\bfalse\b|fail|err|=1\b|\+\+|\+ 1/i
const mostBetween = 4

/** A line of a shell script. A condition compares only where a failure follows. */
const alterScriptLine = (lines: readonly string[], index: number): Altered | undefined => {
  const line = lines[index] ?? ''
  const text = alterShell(line) ?? alterAssertion(line)
  if (text === undefined) return shellAssertion.test(line) ? { text: line, exact: false } : undefined
  const follows = lines.slice(index, index + mostBetween).some((next) => fails.test(next))
  return { text, exact: isCondition.test(line) ? follows : !ignoresFailure.test(line) }
}

/** Undefined = the file holds nothing that can be changed so. */
export const otherExpectations = (path: string, text: string): Altered | undefined => {
  if (isPlain.test(path)) return withBroken(path, text, { text: `${text}z\n`, exact: true })
  if (!hasLiterals.test(path)) return undefined
  const family = testFamilies.find(({ file, program }) => file.test(path) || program?.test(path))
  // The title of a test stays, so that its failures have the same name.
  const visible = [family?.comment, family?.test]
    .filter((pattern) => pattern !== undefined)
    .reduce((left, pattern) => left.replace(pattern, blank), text)
    .split('\n')
  const original = text.split('\n')
  const lines = original.map((line, index): Altered => {
    // A comment or a title in the line stays as it is.
    const isPlainLine = visible[index] === line && !loads.test(line)
    const shell = isShell.test(path) && isPlainLine ? alterScriptLine(visible, index) : undefined
    return shell ?? alterLine(line, visible[index] ?? '')
  })
  // A value that is given to the product could change together with the one that is expected, and then nothing would have to fail.
  const exact = lines.some((line) => line.exact)
  const altered = original.map((line, index) => (exact && lines[index]?.exact !== true ? line : lines[index]?.text))
  if (altered.join('\n') === text) return undefined
  return withBroken(path, text, { text: altered.join('\n'), exact })
}

/** The line decides how the check ends: nothing behind the comparison takes its place. */
const decides = (line: string, comparedAt: number): boolean => {
  if (ignoresFailure.test(line)) return false
  return ends.test(line) || (!isCondition.test(line) && !line.slice(comparedAt).includes(';'))
}

/** Undefined = the line holds no program that compares. */
const alterInline = (line: string): Altered | undefined => {
  const inline = inlineProgram.exec(line)
  if (inline === null) return undefined
  const [whole, option = '', quote = '', program = ''] = inline
  const altered = alterLine(program, program, true)
  if (!altered.exact || altered.text === program) return undefined
  const text = line.replace(whole, () => `${option}${quote}${altered.text}${quote}`)
  return { text, exact: decides(line, inline.index + whole.length) }
}

/** A line of a recipe or of a script, which a check runs. */
const alterCheckLine = (line: string): Altered => {
  const inline = alterInline(line)
  if (inline !== undefined) return inline
  const text = alterShell(line)
  if (text === undefined) return { text: line, exact: false }
  const last = [...line.matchAll(shellWord)].at(-1)
  return { text, exact: decides(line, (last?.index ?? 0) + (last?.[0].length ?? 0)) }
}

const firstOfRecipe = /^\t[@+]*/

/** A makefile whose check compares by itself, in the recipes of these targets. */
export const otherRecipes = (text: string, targets: ReadonlySet<string>): Altered | undefined => {
  const recipes = [...readMakefile(text).rules].flatMap(([name, { recipe }]) => (targets.has(name) ? recipe : []))
  const run = new Set(recipes)
  const lines = text.split('\n').map((line) => {
    const isRun = line.startsWith('\t') && !line.startsWith('\t-') && run.has(line.trim())
    return { line, altered: isRun ? alterCheckLine(line) : { text: line, exact: false } }
  })
  const altered = lines.map((each) => each.altered.text).join('\n')
  if (altered === text) return undefined
  const broken = lines.map(({ line, altered: { exact } }) =>
    exact ? line.replace(firstOfRecipe, (begin) => `${begin}exit 1; `) : line,
  )
  return { text: altered, exact: lines.some((each) => each.altered.exact), broken: broken.join('\n') }
}

/** A package.json whose check compares by itself, in these scripts; the file has at least one of them. */
export const otherScripts = (text: string, names: ReadonlySet<string>): Altered | undefined => {
  const manifest = JSON.parse(text) as { scripts: Record<string, string> }
  const scripts = Object.entries(manifest.scripts).map(([name, line]) => {
    const altered = names.has(name) ? alterCheckLine(line) : { text: line, exact: false }
    return { name, line, altered }
  })
  if (scripts.every(({ line, altered }) => line === altered.text)) return undefined
  const written = (lineOf: (script: (typeof scripts)[number]) => string): string =>
    `${JSON.stringify({ ...manifest, scripts: Object.fromEntries(scripts.map((each) => [each.name, lineOf(each)])) }, null, 2)}\n`
  return {
    text: written(({ altered }) => altered.text),
    exact: scripts.some(({ altered }) => altered.exact),
    broken: written(({ line, altered }) => (altered.exact ? `exit 1; ${line}` : line)),
  }
}

/** Of the test files those that speak of a changed file; all of them if none does. */
export const testsAbout = (
  subject: readonly string[],
  tests: readonly { path: string; text: string }[],
): { path: string; text: string }[] => {
  const names = subject
    .map((path) => (path.split('/').at(-1) ?? '').replace(/\.\w+$/, ''))
    .filter(({ length }) => length > 2)
  const about = tests.filter(({ path, text }) => names.some((name) => path.includes(name) || text.includes(name)))
  return about.length > 0 ? about : [...tests]
}
