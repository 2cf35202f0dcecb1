/**
 * Names that generated files usually have. A name only nominates a file: whether it is generated is decided by evidence (untracked
 * in the base, made again by a command). Denied paths and secrets come before all of this; a secret is never generated. Pure.
 */
import { unsafeBecause } from './path-safety.ts'
import { parsePathRule, pathMatcher } from './path-rule.ts'
import { secretRuleFor } from './secrets.ts'

const extensions = /.\.(?:dump|log|tmp|trace|trc|lst|out|tsbuildinfo)$/

const folders: ReadonlySet<string> = new Set([
  'coverage',
  'report',
  'reports',
  'artifact',
  'artifacts',
  'tmp',
  'out',
  'build',
  'dist',
])

/** Whether the name suggests a generated file. `src/report/summary.ts` does, too: never decide by this alone. */
export const isLikelyGeneratedArtifactPath = (path: string): boolean => {
  const segments = path.split('/')
  const base = segments.at(-1) ?? ''
  if (segments.some((segment, at) => segment === '..' || (segment === '' && at < segments.length - 1))) return false
  if (path.includes('\0') || secretRuleFor(path) !== undefined) return false
  return extensions.test(base) || segments.slice(0, -1).some((segment) => folders.has(segment))
}

export const builtInGeneratedPaths: readonly string[] = [
  '**/node_modules/**',
  '**/{dist,build,out}/**',
  '**/{coverage,.nyc_output}/**',
  '**/{.turbo,.next,.pytest_cache,__pycache__}/**',
  '**/{playwright-report,test-results}/**',
  '**/*.{elf,o,a,bin,img,map}',
  '**/*.tsbuildinfo',
]

/** The entries of a list of paths: separated by line breaks, and by commas outside braces; `#` begins a comment line. */
export const pathListOf = (text: string): string[] => {
  const entries: string[] = []
  for (const line of text.split(/\r?\n/)) {
    let depth = 0
    let entry = ''
    for (const char of line.trim().startsWith('#') ? '' : line) {
      if (char === '{') depth += 1
      if (char === '}') depth -= 1
      if (char === ',' && depth <= 0) {
        entries.push(entry)
        entry = ''
      } else entry += char
    }
    entries.push(entry)
  }
  return [...new Set(entries.map((entry) => entry.trim()).filter((entry) => entry !== ''))]
}

/** Why an entry of the owner's generated paths is refused; undefined = it is not. */
export const whyNoGeneratedPath = (entry: string): string | undefined => {
  const parsed = parsePathRule(entry)
  if (!parsed.ok) return parsed.reason
  if ('literal' in parsed.rule) return unsafeBecause(parsed.rule.literal)?.replace(/^the (?:path|name) /, 'it ')
  const covers = pathMatcher(parsed.rule)
  return ['\u0001', '\u0001/\u0001'].some(covers) ? 'it covers files of every name' : undefined
}

/** Returns the first pattern that covers a path. Secrets and unsafe paths have none; patterns that cannot be read cover nothing. */
export const generatedMatcher = (patterns: readonly string[]): ((path: string) => string | undefined) => {
  const matchers = patterns.flatMap((text) => {
    const parsed = parsePathRule(text)
    return parsed.ok ? [{ text, covers: pathMatcher(parsed.rule) }] : []
  })
  return (path) => {
    if (path.startsWith('/') || path.split('/').includes('..') || secretRuleFor(path) !== undefined) return undefined
    return matchers.find(({ covers }) => covers(path))?.text
  }
}
