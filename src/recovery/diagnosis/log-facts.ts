/**
 * Reads from a log what is unknown otherwise: the commands that it announces, the tool that wrote it, the exit status, and the
 * parts that passed. Reads text only.
 */
import { readCommand, type CommandFacts } from './argv.ts'
import { isCoverage } from './test-cause.ts'
import { testCounts } from './executed.ts'
import { isFooter, isWarning, type OutputLine } from './output-lines.ts'

/** How package managers, CI services and shells print a command before they run it. */
const announced: readonly RegExp[] = [
  /^(?:##\[group\]|> )?Run (\S.*)$/,
  /^> (?!Task |Configure |Failed |Could |Run |Get |Executing |\d)([\w./@$"'][^>|]*)$/,
  /^(?:\[\d+\/\d+\] )?\$ ([\w./"'].*)$/,
  /^(?:#\d+ \[[^\]]*\d+\/\d+\]|Step \d+\/\d+ :) RUN (.+)$/,
  /^[\w.-]+@[\w.-]+[: ]\S* ?[$#%] (.+)$/,
  /^npm (?:error|ERR!) command (?:sh|bash) -c (.+)$/,
]

/** The header of npm, pnpm and yarn with package and script; the command follows on the next line. */
const script = /^> (?:@?[\w./-]+@\S+ )[\w:./-]+(?: \S+)?$/

/** Lines that identify the tool that wrote the log, however it was started. */
const banners: readonly [program: string, banner: RegExp][] = [
  ['vitest', /^\s*(?:RUN|DEV) +v\d/],
  ['pytest', /^=+ test session starts =+$/],
  ['npm install', /^npm (?:error|ERR!) (?:code (?:E|ENO)|request to |network )/],
  ['yarn install', /^yarn install v\d|^\[\d\/4\] |^➤ YN\d{4}/],
  ['pnpm install', /^\s*(?:ERR_PNPM_|Lockfile is up to date)/],
  ['bun install', /^bun (?:install|add) v\d/],
  ['pip install', /^(?:Collecting|Downloading) [\w.-]+|^Requirement already satisfied|^(?:ERROR|WARNING): .*\bpip\b/],
  ['cargo build', /^\s+(?:Compiling|Checking|Downloaded|Updating|Blocking|Locking) \S/],
  ['go build', /^go: |^(?:ok|FAIL)\t\S+|^\?\s+\S+\s+\[no test files\]/],
  ['make', /^g?make(?:\[\d+\])?: /],
  ['gradle', /^> Task :|^FAILURE: Build failed with an exception|^Starting a Gradle Daemon/],
  ['mvn', /^\[INFO\] (?:Scanning for projects|BUILD )|^\[ERROR\] Failed to execute goal/],
  ['docker build', /^#\d+ \[|^Step \d+\/\d+ : |^ERROR: failed to (?:solve|build)/],
  ['git fetch', /^remote: |^fatal: (?:unable to access|repository|could not read|Authentication)/],
  ['curl', /^curl: \(\d+\)/],
  ['bundle install', /^Fetching gem|^Bundler (?:could|found)/],
  ['composer install', /^(?:Loading composer|Installing dependencies from lock)/],
  ['poetry install', /^Installing dependencies from lock file|^pyproject\.toml changed/],
  ['terraform init', /^Initializing (?:the backend|provider plugins)/],
]

const commandOf = ({ text }: OutputLine): string | undefined => {
  if (script.test(text)) return undefined
  for (const pattern of announced) {
    const found = pattern.exec(text)?.[1]
    if (found !== undefined) return found.trim()
  }
  return undefined
}

const maxCommands = 12

/** The commands that the log announces, and the tools that it identifies. */
export const commandInLog = (lines: readonly OutputLine[]): CommandFacts => {
  const found = new Set<string>()
  for (const line of lines) {
    const command = found.size < maxCommands ? commandOf(line) : undefined
    if (command !== undefined) found.add(command)
  }
  for (const [program, banner] of banners) if (lines.some(({ text }) => banner.test(text))) found.add(program)
  const read = [...found].map((command) => readCommand(command))
  return {
    text: [...found].join('\n'),
    // A log does not show a command as it was written, so its form is never at fault.
    plan: { ok: true, steps: [] },
    argvs: read.flatMap(({ argvs }) => argvs),
    programs: [...new Set(read.flatMap(({ programs }) => programs))],
  }
}

const endings: readonly RegExp[] = [
  /^(?:##\[error\]|Error: )?(?:The )?[Pp]rocess completed with exit code (\d+)/,
  /^(?:ERROR: )?Job failed: exit (?:code|status) (\d+)/,
  /^g?make(?:\[\d+\])?: \*\*\* .*\bError (\d+)$/,
  /ELIFECYCLE.* (?:Command|Test) failed with exit code (\d+)/,
  /^error Command failed with exit code (\d+)/,
  /^error: (?:script|Recipe) .* (?:exited with code|with exit code) (\d+)/,
  /returned a non-zero code: (\d+)$|did not complete successfully: exit code: (\d+)/,
]

/** The exit status that the log reports; null = none. */
export const exitInLog = (lines: readonly OutputLine[]): number | null => {
  for (const { text } of lines.toReversed()) {
    for (const pattern of endings) {
      const found = pattern
        .exec(text)
        ?.slice(1)
        .find((group) => group !== undefined)
      if (found !== undefined) return Number(found)
    }
  }
  return null
}

const begins = ({ text }: OutputLine): boolean =>
  script.test(text) || banners[0]?.[1].test(text) === true || banners[1]?.[1].test(text) === true

const counted =
  /\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|\bfail(?:ed|ures?|ing)?:? +[1-9]|^\s*(?:FAIL|FAILED|not ok|✖|✗|✕|×|--- FAIL)(?:[\s:]|$)/i

/** Index of the line that counts passes, if no line of this part counts a failure; else -1. */
const passOf = (part: readonly OutputLine[]): number =>
  part.some(({ text, bare }) => counted.test(text) || counted.test(bare))
    ? -1
    : part.findLastIndex(({ text, bare }) =>
        testCounts.some(({ some }) => some !== undefined && (some.test(text) || some.test(bare))),
      )

/**
 * The line that reports a missed coverage threshold, if nothing else failed: tests passed, none failed, and their output is no
 * cause.
 */
export const missedCoverage = (lines: readonly OutputLine[]): string | undefined => {
  const missed = lines.filter(({ text }) => isCoverage(text))
  return missed.length > 0 && passOf(lines.filter(({ text }) => !isCoverage(text))) !== -1
    ? missed[0]?.text.trim()
    : undefined
}

const partsOf = (lines: readonly OutputLine[]): OutputLine[][] => {
  const parts: OutputLine[][] = [[]]
  for (const [index, line] of lines.entries()) {
    const before = lines[index - 1]
    if (begins(line) && (before === undefined || !begins(before))) parts.push([])
    parts.at(-1)?.push(line)
  }
  return parts
}

export interface UnpassedLines {
  /** The remaining lines, without the output of passed test runs. */
  rest: OutputLine[]
  /** The line in which the last runner counts its passes. */
  evidence: string | undefined
}

/** `names`: whether these lines name a cause. */
export const withoutPasses = (lines: readonly OutputLine[], names: (part: OutputLine[]) => boolean): UnpassedLines => {
  const rest: OutputLine[] = []
  let evidence: string | undefined
  for (const part of partsOf(lines)) {
    const at = passOf(part)
    const after = part.slice(at + 1)
    // After a passed runner, the log may still report a failure without naming its cause.
    const ended = at !== -1 && (exitInLog(after) ?? 0) === 0 && !after.some(({ text }) => isFooter(text))
    if (at === -1 || (!ended && !names(after))) {
      rest.push(...part)
      continue
    }
    evidence = part[at]?.text.trim()
    rest.push(...after)
  }
  return { rest, evidence }
}

const trouble =
  /\b(?:[Ee]rrors?|ERRORS?|ERR!|[Ff]ail(?:ed|ure|ures|s|ing)?|FAIL(?:ED|URE)?|[Ff]atal|FATAL|[Pp]anic(?:ked)?|[Dd]enied|[Rr]efused|[Cc]annot|[Cc]ould not|[Nn]ot found|[Nn]o such|[Mm]issing|[Uu]nable to|[Kk]illed|[Aa]borted|[Ee]xception|[Tt]imed out|[Ii]nvalid|\w+(?:Error|Exception))\b|\bE(?:ACCES|PERM|NO[A-Z]+|CONN[A-Z]+|[NM]FILE)\b|[✗✘✖✕]|\*\*\*/
/** "0 errors", "no failures". */
const none =
  /\b(?:0|no|without) (?:\w+ )?(?:errors?|failures?|failed|failing|problems?)\b|(?:errors?|fail(?:ed|ures?)?):? 0\b/gi

export const reportsProblem = ({ text }: OutputLine): boolean =>
  !isWarning(text) && trouble.test(text.replace(none, ''))
