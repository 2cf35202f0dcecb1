/**
 * The interface of a harness driver: data and parsers for one coding-agent CLI. A driver owns the launch line and the parsing of the
 * CLI's events. It never spawns a process, does not decide what a failure means (recovery does), and never treats the
 * model's prose, a tool's output or a quotation as a failure.
 */

import type { Capabilities, MeasuredVersion } from './capabilities.ts'
import type { LoginTraces } from './cli-login.ts'
import type { DriverName } from './names.ts'
import type { Refused } from './remedy-words.ts'
import type { UserCommand } from './user-command.ts'

/** The MCP server of a run's own tools, which the CLI starts for this launch alone. */
export interface ToolServer {
  command: string[]
  /** Names of its tools. */
  tools: readonly string[]
  /** Variables that it needs, all in the environment of the launch. Their values stand in no argument and no file. */
  variables: string[]
  /** The longest call of a tool. */
  callSeconds: number
  /** Folder of the run for a file of settings, outside of what the agent is told to write. */
  folder: string
  /** A variable of the environment of the launch. */
  inherited(name: string): string | undefined
}

/** Everything that can differ between two launches of a run. Corrections accumulate in it. */
export interface LaunchRequest {
  /** Capabilities of this version of the CLI, so that it gets no flag that it does not know. */
  can: Capabilities
  prompt: string
  /** File with the same prompt, for harnesses that read it from a file or standard input. */
  promptFile: string
  workspace: string
  /** `$UNSTUCK_RUN_DIR`: writable for the agent, ignored by git. */
  runDir: string
  model?: string
  /** Session to resume; absent = a fresh session. */
  resumeSession?: string
  /** Directories outside the workspace that the agent may use (realpaths). */
  addDirs: string[]
  /** Skip the CLI's own check of the workspace, which is no git repository or not trusted. */
  skipGitCheck: boolean
  /** Verification commands of the task, as written; a driver may allow the agent to run them. */
  commands: string[]
  /** Rules of this CLI that allow further tool calls, from `toolRules`. */
  toolRules: string[]
  /** Set by the owner: the CLI's own mode without permission prompts and refusals. */
  unrestricted?: boolean
  /** Replaces the driver's program (argv prefix), from `harness.<name>.command`. */
  program?: string[]
  /** Further arguments from `harness.<name>.args`, before the prompt. */
  extraArgs: string[]
  /** `argument`, `stdin` or `file`: how the `command` driver hands over the prompt. */
  promptMode?: 'argument' | 'stdin' | 'file'
  /** Absent = no tools, or this version of the CLI cannot take them. */
  toolServer?: ToolServer
}

/** A question: the prompt asks for one answer, and the launch may only read. It always begins a fresh session. */
export type QuestionRequest = Pick<
  LaunchRequest,
  'can' | 'prompt' | 'promptFile' | 'workspace' | 'runDir' | 'model' | 'program' | 'extraArgs' | 'promptMode'
> & {
  /** Names of the owner's servers of tools, by `Driver.toolServers`. */
  toolServers?: readonly string[]
}

export interface LaunchLine {
  argv: string[]
  cwd: string
  /** Added to the allow-listed environment. */
  env: Record<string, string>
  /** Files that the launch names, written before it. */
  files?: readonly { path: string; text: string }[]
  /** Standard input is a file or empty, never an open pipe: two CLIs hang on one. */
  stdinFile: string | null
}

/** A refused tool call, as the CLI reported it to the model. Evaluated when the turn has ended. */
export interface Denial {
  /**
   * `scope` = path outside of what the agent may use, `tool` = a tool, command or mode needs approval, `filesystem` = the
   * operating system refused, `safety` = the CLI stopped something dangerous, which is never corrected.
   */
  kind: 'scope' | 'tool' | 'filesystem' | 'safety'
  tool: string
  /** The refused path or command, as the CLI printed it; absent when the CLI does not report it. */
  target?: string
  text: string
  /** Id of the refused tool call, where the CLI reports it. */
  callId?: string
  /** When the CLI logged it (ISO 8601), where that leads to the path in a record of its own. */
  at?: string
}

/** Where a CLI's own record of a session lies: the environment of its launch, its working folder, and the port for files. */
export interface RefusalSource {
  environment: Record<string, string | undefined>
  workspace: string
  files: {
    existsSync(path: string): boolean
    readdirSync(path: string): string[]
    readOwnBytes(path: string, most: number): Uint8Array | { refused: string } | 'none'
  }
}

/**
 * The types of failure that drivers distinguish, from structured fields and from the CLI's own fixed sentences in them. The
 * vocabulary is common to all CLIs, so that recovery needs no rule per CLI. Absent = unknown.
 */
export type FaultType =
  | 'authentication_failed'
  | 'billing_error'
  | 'rate_limit'
  | 'usage_limit'
  | 'overloaded'
  | 'server_error'
  | 'network'
  | 'timeout'
  | 'invalid_request'
  | 'prompt_too_long'
  | 'model_not_found'
  | 'refusal'
  | 'max_output_tokens'
  | 'max_turns'
  | 'max_budget'
  | 'aborted'
  | 'session_not_found'
  | 'session_busy'
  | 'git_trust'
  | 'filesystem'
  | 'directory_missing'
  | 'bad_flag'
  | 'bad_config'
  | 'temporary_failure'
  | ExitType

/**
 * With source `exit`: nothing was reported, and only the exit itself is known. `no_result` with source `stderr`: standard error has
 * lines that the driver does not recognize.
 */
export type ExitType = 'stopped' | 'signal' | 'no_result' | 'bad_exit'

/** A failure that the CLI reports in a structured field or, with a failing exit, on its standard error. */
export interface ReportedError {
  source: 'event' | 'stderr' | 'exit'
  type?: FaultType
  /** The CLI's or the server's own code (error enum, error code, kind of limit), as printed. */
  code?: string
  httpStatus?: number
  text: string
  /** End of the limit, as the provider states it. */
  resetAt?: Date
}

export interface Tokens {
  /** All input, including tokens read from or written to a cache. */
  input: number
  output: number
  /** Part of `input` that was read from a cache. */
  cachedInput: number
}

/** A retry by the CLI itself. It is no failure yet, but the best evidence when the CLI never recovers. */
export interface OwnRetry {
  attempt: number
  max?: number
  delayMs?: number
  error: ReportedError
}

/** A tool call without a result so far. */
export interface OpenCall {
  id: string
  tool: string
  /** The file of its structured input. */
  path?: string
  command?: string
}

/** One of the newest tool calls, from which loops are detected. */
export interface MadeCall {
  id: string
  /** Tool and its path or command. */
  name: string
  /** Digest of tool and input; absent where the CLI does not report the whole input. */
  key?: string
  /** Its result without the middle of a long one; absent until there is a result. */
  result?: string
}

/** Everything parsed so far from one launch's output. Parsing the same output again gives the same value. */
export interface Transcript {
  /** A session that can be resumed. */
  sessionId?: string
  /** A session that the CLI has named but cannot resume yet. */
  announcedSession?: string
  model?: string
  cliVersion?: string
  /** Working directory, as the CLI reports it. */
  cwd?: string
  tokens: Tokens
  /** The message whose usage was counted last, because a CLI may print one message as several lines with the same usage. */
  countedMessage?: string
  costUsd?: number
  toolCalls: number
  /** The model's last text, for the commit body and for people. Never searched for failures. */
  lastText: string
  /** The CLI sends a text in pieces, and `lastText` may be incomplete. */
  textOpen?: true
  denials: Denial[]
  /** Errors that the CLI reported, in order; the run may still succeed. */
  errors: ReportedError[]
  /** Set while the CLI retries by itself, until the model responds again. */
  retry?: OwnRetry
  /** How often the CLI compacted its conversation since it last used a tool. */
  compactions?: number
  /** The provider's limit and its reset, from a structured limit event. */
  limit?: { resetAt?: Date; code?: string }
  openCalls: OpenCall[]
  /** The CLI detected a loop itself and ended its turn, which some CLIs report as success. */
  loopStopped?: true
  /** The newest calls, with and without a result. */
  calls: MadeCall[]
  /** The CLI's own final event. */
  final?: { isError: boolean; reason: string; text: string }
  /** Last lines of the CLI's own stderr. */
  stderrTail: string[]
  /** Last lines of standard output, of a program that has no events of its own. */
  stdoutTail?: string[]
  /** Number of lines that were not in the CLI's format. */
  foreignLines: number
}

/** The transcript after one line, and what to show of the line. */
export interface ParsedLine {
  transcript: Transcript
  note?: AgentNote
}

export interface AgentExit {
  code: number | null
  signal: string | null
  /** Why it was stopped, when we stopped it. */
  stopCause?: string
}

/** A line for people following the run. */
export interface AgentNote {
  kind: 'text' | 'tool' | 'tool_error' | 'denial' | 'error' | 'result'
  text: string
}

export type Conclusion = { ok: true; text: string } | { ok: false; error: ReportedError; fatal: true }

/** What a rule for a refused call may be based on. */
export interface Permitted {
  workspace: string
  /** Commands that the launch already allows. */
  launchCommands: readonly string[]
  /** All commands that are checks of this task. */
  taskCommands: readonly string[]
}

export interface Driver {
  name: DriverName
  /** Program looked up on PATH when `program` is not configured; null = must be configured. */
  defaultProgram: string | null
  /** What token counts cover. `session`: the whole resumed session, so take differences; `launch`: this launch only; `none`: not reported. */
  tokenScope: 'launch' | 'session' | 'none'
  /** It prints an answer when the answer is complete, and nothing while it streams. Absent = it prints pieces, or what it likes. */
  printsWholeItems?: true
  /** Names of environment variables this CLI needs from the user, beyond the common allow-list. */
  environment: string[]
  /** Set for every start of the program that no launch line makes, such as for its version. */
  programEnv?: Record<string, string>
  /** What each measured version can do, at least one row. */
  measured: readonly MeasuredVersion[]
  /** Where its credentials are, and how a person gives them. Absent = unknown. */
  login?: LoginTraces
  launch(request: LaunchRequest): LaunchLine
  /** The launch in the CLI's read-only mode, whatever the owner allows its agents. `workspace` is a folder with the code to read. */
  question(request: QuestionRequest): LaunchLine
  /**
   * How the CLI lists the owner's servers of tools (MCP). It starts them outside of its sandbox, so a question switches each off by
   * its name. Absent = the read-only mode has a switch for all of them, or starts none.
   */
  toolServers?: { args: string[]; namesIn(output: string): string[] }
  /** Files of this machine that `toolServer` would hide from the CLI: where one exists, the launch gets no tools. */
  toolServerHides?: readonly string[]
  /** The answer to a question is the whole standard output, because there is no final event. Absent = the final event has it. */
  answersOnStdout?: true
  /** Arguments with which a person continues this session in their own terminal. Absent = the CLI cannot. */
  openSession?(session: string): string[]
  /**
   * The rules that allow this refused tool call, only for commands of the task and edits in its workspace. Undefined = another
   * call, or no rule would help. Absent = the CLI has no rules for single tools.
   */
  toolRules?(denial: Pick<Denial, 'tool' | 'target'>, permitted: Permitted): string[] | undefined
  /** Rules that allow exactly this refused call, for a person's decision. Absent = the CLI has no such rules. */
  grantRules?(denial: Pick<Denial, 'tool' | 'target'>): string[]
  /** The option that takes one of these rules, for `harness.<name>.args`. Absent = there is none. */
  ruleOption?: string
  /** How a person allows a refused call in the options of this CLI, as the rest of "To allow it: …". */
  remedy?(refused: Refused, open: { stderr: readonly string[] }): string
  /** The user's own command line of this CLI. Absent = `unstuck exec` cannot supervise it. */
  userCommand?: UserCommand
  emptyTranscript(): Transcript
  /** Parses one line (without its newline). Pure: returns the new or unchanged transcript and a note for people. */
  read(reading: Transcript, stream: 'stdout' | 'stderr', line: string): ParsedLine
  /** Names the paths of refusals that were printed without one, from the CLI's own record of the session. Absent = it prints them. */
  nameRefusals?(reading: Transcript, source: RefusalSource): Transcript
  /** The result of the ended launch. Success requires the CLI's own final event without an error; an exit code is not enough. */
  conclude(reading: Transcript, exit: AgentExit): Conclusion
}
