/**
 * Turns the raw output of a tool into lines for the rules. Colours, carriage returns and the prefixes of task runners are
 * removed. The work is bounded for any length: of a long text, only the beginning, the end and the lines in between that seem
 * to report a problem are kept, and only a few lines of each shape.
 */

export interface OutputLine {
  /** Without colours, truncated. */
  text: string
  /** The same without the prefixes of task runners and loggers; equal to `text` if there are none. */
  bare: string
  stream: 'stdout' | 'stderr'
  /** Order of appearance within the stream. */
  index: number
}

const maxLine = 1200
const edge = 96 * 1024
const maxMiddle = 400
const maxLines = 900
const sameShape = 4

// Built from code points, because control characters in a source file are invisible in review.
const escape = String.fromCharCode(27)
const colours = new RegExp(
  `${escape}(?:\\[[0-9;:?]*[ -/]*[@-~]|\\][^${escape}\\u0007]{0,400}(?:\\u0007|${escape}\\\\)?|[()][A-Z0-9]|[=>78cDEHM])`,
  'g',
)
const gutters: readonly RegExp[] = [
  /^[\w@/.-]+:[a-z][\w-]*: /,
  /^[\w@.-]*\/[\w@/.-]+ [a-z][\w:-]*: /,
  /^(?:# |│ |\| |> |E {2,}|\[\d{1,2}\] |\[(?:ERROR|INFO|FATAL|error|err)\] |#\d+ \d+\.\d+ )/,
  /^(?:npm ERR! |npm error |ERROR: |error |Error: |Caused by: |\[cause\]: )/,
  /^\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?\]? (?:\[\d+\] )?/,
  /^[\w.-]+-\d+ +\| /,
]

/** The prefix of CI services: optionally job and step, then the time. */
const stamp = /^(?:[^\t]{1,80}\t[^\t]{1,80}\t)?\uFEFF?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z (?:\d\d[OE][ +])?/

/** A warning did not stop the tool. */
const warning =
  /^(?:npm (?:warn|WARN)\b|(?:\[\w+\] )?warning:? |\s*WARN\b|\(node:\d+\) (?:\[\w+\] )?(?:\w*Warning\b|Warning:)|\(Use `node --trace-)|^\S+:\d+: \w*(?:Deprecation|Future|User|Runtime|Resource)Warning: |^\s*\w*DeprecationWarning: |^\s+\d+:\d+\s+warning\s|^✖ \d+ problems? \(0 errors, |^DEPRECAT(?:ED|ION)\b|^\[DEP\d+\]/

export const isWarning = (text: string): boolean => warning.test(text)

/** Lines after a failure that only say that it happened, or where to read more. */
const footer =
  /^\s*(?:npm (?:error|ERR!)(?:\s*$| A complete log| {4,}\S*\.log$| Lifecycle script| (?:code|errno|path|workspace|location|command) | Test failed| Exit status| This is probably not)|\s*ELIFECYCLE|error Command failed with exit code|info Visit |(?:##\[error\]|Error: )?(?:The )?[Pp]rocess completed with exit code|##\[endgroup\]|error: script .* exited with code)|^make(?:\[\d+\])?: (?:Leaving|Entering) directory|^\s*(?:error: )?'test failed'$|^\s*(?:failureType|exitCode|signal|code|location): |^\d{4}-\S+-debug-\d+\.log$/

export const isFooter = (text: string): boolean => footer.test(text)

export const stripColours = (text: string): string => (text.includes(escape) ? text.replace(colours, '') : text)

/** Removes at most three layers of prefixes: a runner in a runner in a log. */
export const withoutPrefixes = (text: string): string => {
  let bare = text.trimStart()
  for (let round = 0; round < 3; round += 1) {
    const before = bare
    for (const gutter of gutters) bare = bare.replace(gutter, '')
    bare = bare.trimStart()
    if (bare === before) break
  }
  return bare
}

const trouble =
  /rror|ERR|FAIL|ailed|ailure|atal|anic|denied|refused|annot|ould not|ot found|o such|issing|nable to|illed|xception|timed out|EA[CD]|ENO|E[MN]FILE|nvalid|onflict|quota|pace left|✗|✘|●/

/** Few alternatives per pattern: an engine finds three of them at memory speed, but thirty of them ten times slower. */
const troubles = [/rror|FAIL|ailed/g, /annot|ot found|o such/g, /refused|denied|xception/g, /atal|ERR_|ENO/g]

/** The lines of the middle part that seem to report a problem, found without splitting all of it into lines. */
const middleOf = (text: string): string[] => {
  const found = new Map<number, string>()
  for (const pattern of troubles) {
    pattern.lastIndex = 0
    for (let count = 0; count < maxMiddle / troubles.length; count += 1) {
      const hit = pattern.exec(text)
      if (hit === null) break
      const start = Math.max(text.lastIndexOf('\n', hit.index) + 1, hit.index - maxLine)
      const newline = text.indexOf('\n', hit.index)
      const end = newline === -1 ? text.length : newline
      found.set(start, text.slice(start, Math.min(end, hit.index + maxLine)))
      pattern.lastIndex = Math.max(end, hit.index + 1)
    }
  }
  return [...found].sort(([a], [b]) => a - b).map(([, line]) => line)
}

const cut = (text: string): string[] => text.split(/\r\n|\n|\r/)

/** Beginning, selected middle and end of one stream. Rules never see the rest. */
const piecesOf = (text: string): string[] => {
  if (text.length <= 2 * edge) return cut(text)
  const head = cut(text.slice(0, edge))
  const tail = cut(text.slice(-edge))
  return [...head, ...middleOf(text.slice(edge, -edge)), ...tail]
}

const shapeOf = (text: string): string => text.slice(0, 160).replace(/\d+/g, '0')

export const outputLines = (text: string, stream: OutputLine['stream']): OutputLine[] => {
  const seen = new Map<string, number>()
  const lines: OutputLine[] = []
  let index = 0
  for (const piece of piecesOf(text)) {
    index += 1
    const line = stripColours(piece.length > maxLine * 2 ? piece.slice(0, maxLine * 2) : piece)
      .replace(stamp, '')
      .slice(0, maxLine)
    if (line.trim() === '') continue
    const shape = shapeOf(line)
    const count = seen.get(shape) ?? 0
    seen.set(shape, count + 1)
    if (count >= sameShape) continue
    lines.push({ text: line.trimEnd(), bare: '', stream, index })
  }
  const kept = lines.length <= maxLines ? lines : [...lines.slice(0, maxLines / 3), ...soundsBad(lines)]
  for (const line of kept) line.bare = withoutPrefixes(line.text)
  return kept
}

const ordinary = /^\s*(?:✓|✔|√|ok \d|PASS|---? PASS|\[ +OK|=== RUN)/

const soundsBad = (lines: readonly OutputLine[]): OutputLine[] => {
  const rest = lines.slice(maxLines / 3)
  const bad = rest.filter(({ text }) => !ordinary.test(text) && trouble.test(text))
  const end = rest.slice(-maxLines / 3)
  return [...new Set([...bad.slice(0, maxLines / 6), ...bad.slice(-maxLines / 6), ...end])].sort(
    (a, b) => a.index - b.index,
  )
}

/** Whether the character at `position` is inside quotes, so that it belongs to a value and reports no event. */
export const isQuoted = (text: string, position: number, from = 0): boolean => {
  const before = text.slice(from, position)
  const count = (character: string): number => before.split(character).length - 1
  if (count('"') % 2 === 1 || count('`') % 2 === 1) return true
  let open = false
  for (const match of before.matchAll(/'/g)) {
    const at = match.index
    const wordBefore = /\w/.test(before[at - 1] ?? '')
    const wordAfter = /\w/.test(before[at + 1] ?? '')
    if (wordBefore && wordAfter) continue
    open = !open
  }
  return open
}
