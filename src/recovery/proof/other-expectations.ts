/**
 * Changes what tests expect, so that they have to fail: a check that passes all the same does not depend on them any more. What the
 * product does in the test's own process can bring that about (it replaces an assertion, ends the program, prints a result), and neither
 * the files of the tests nor the number of them shows it. Pure.
 */
import { testFamilies } from '../test-families.ts'

export interface Altered {
  text: string
  /** A value changed that something is compared with, so that a test has to fail if it runs. */
  exact: boolean
}

const literal = /(["'])((?:(?!\1)[^\\\n]){0,200})\1|(?<![\w.])\d{1,15}(?:\.\d{1,15})?(?![\w.])/g
/** Of the shell too, where one `=` with spaces compares. */
const comparison = /[=!]==?(?!=)|\s-(?:eq|ne)\s|(?:\[|\btest\b)[^\n]*?\s=\s/g
const exactCall = /equal|\beq\b|same|toBe\(|deep/i
const loads =
  /^\s*(?:import|from|export|use|using|require|include|#include|package|source|\.)\b|\brequire\s?\(|\bimport\s?\(/
const blank = (text: string): string => text.replace(/[^\n]/g, ' ')

const otherValue = (value: string): string => {
  if (/^["']/.test(value)) return `${value.slice(0, -1)}z${value.slice(-1)}`
  return `${value.slice(0, -1)}${(Number(value.at(-1)) + 1) % 10}`
}

/** Behind the last comparison the first literal, else the last of the line: calls name what is expected last. */
const alterLine = (line: string, visible: string): Altered => {
  // Paths are what a test loads, and a text with values of its own is not what it seems.
  const found = [...visible.matchAll(literal)].filter(([text]) => !/[/$`]/.test(text))
  const compared = [...visible.matchAll(comparison)].at(-1)
  const behind = compared === undefined ? -1 : compared.index + compared[0].length
  const chosen = (compared === undefined ? undefined : found.find(({ index }) => index >= behind)) ?? found.at(-1)
  if (chosen === undefined || loads.test(visible)) return { text: line, exact: false }
  const end = chosen.index + chosen[0].length
  return {
    text: `${line.slice(0, chosen.index)}${otherValue(chosen[0])}${line.slice(end)}`,
    exact: (compared !== undefined && chosen.index >= behind) || exactCall.test(visible),
  }
}

const isPlain = /\.txt$/
const hasLiterals =
  /\.(?:[cm]?[jt]sx?|py|go|rs|java|kt|rb|php|sh|bash|bats|ex|exs|json|ya?ml|snap|cs|swift|scala|pl|t|c|cc|cpp)$/

/** Undefined = the file holds nothing that can be changed so. */
export const otherExpectations = (path: string, text: string): Altered | undefined => {
  if (isPlain.test(path)) return { text: `${text}z\n`, exact: true }
  if (!hasLiterals.test(path)) return undefined
  const family = testFamilies.find(({ file }) => file.test(path))
  // The title of a test stays, so that its failures have the same name.
  const visible = [family?.comment, family?.test]
    .filter((pattern) => pattern !== undefined)
    .reduce((left, pattern) => left.replace(pattern, blank), text)
    .split('\n')
  const lines = text.split('\n').map((line, index) => alterLine(line, visible[index] ?? ''))
  const altered = lines.map((line) => line.text).join('\n')
  return altered === text ? undefined : { text: altered, exact: lines.some(({ exact }) => exact) }
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
