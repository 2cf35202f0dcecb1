/** Removes secrets of the environment and of the command line from everything that `unstuck exec` prints. */
import { createRedactor, secretValues } from '../process/redact.ts'

/** A secret-looking name with its value behind `=` or `:`, or as the next word. Names of variables and numbers are no secrets. */
const secretName = String.raw`[\w.-]*(?:api[_-]?key|token|secret|passw(?:or)?d|credential|auth)[\w.-]*`
const assigned = new RegExp(String.raw`(${secretName})["']?\s*[=:]\s*["']?([^"'\s,;}]{8,})`, 'gi')
const option = new RegExp(`^--?${secretName}$`, 'i')
const isValue = (text: string): boolean => text.length >= 8 && !/^\d+$/.test(text) && !/^[A-Z][A-Z0-9_]*$/.test(text)

const secretsIn = (argv: readonly string[]): string[] =>
  argv
    .flatMap((arg, at) => [
      ...[...arg.matchAll(assigned)].map(([, , value = '']) => value),
      ...(option.test(argv[at - 1] ?? '') && !arg.startsWith('-') ? [arg] : []),
    ])
    .filter(isValue)

/** Returns a function that copies plain data and redacts the secrets in its texts. */
export const createSecretHider = (
  argv: readonly string[],
  environment: Record<string, string | undefined>,
): (<T>(data: T) => T) => {
  const named = Object.fromEntries(secretsIn(argv).map((value, at) => [`SECRET_${at}`, value]))
  const secrets = secretValues({ ...environment, ...named }).toSorted((a, b) => b.length - a.length)
  const hide = (value: unknown): unknown => {
    if (typeof value === 'string') return createRedactor(secrets)(Buffer.from(value)).toString('utf8')
    if (Array.isArray(value)) return value.map(hide)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, hide(inner)]))
  }
  return <T>(data: T): T => hide(data) as T
}
