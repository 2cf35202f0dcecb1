/**
 * What a harness driver is: data and parsers for one coding-agent CLI. It owns the launch line and the reading of the
 * CLI's own events. It never spawns, never decides what a failure means (recovery does), and never takes the model's
 * prose, a tool's output or anything quoted for a sign of trouble.
 */

import type { Capabilities, Measured } from './capabilities.ts'
import type { LoginTraces } from './logins.ts'
import type { DriverName } from './names.ts'
import type { Refused } from './remedy-words.ts'
import type { UserCommand } from './user-command.ts'

/** All that can vary between two launches of one run. Corrections accumulate in it. */
export interface LaunchRequest {
  /** What this version of the CLI can do: no flag is given that it does not know. */
  can: Capabilities
  prompt: string
  /** File that holds the same prompt, for harnesses that read it from a file or standard input. */
  promptFile: string
  workspace: string
  /** `$UNSTUCK_RUN_DIR`: writable for the agent, outside git's view. */
  runDir: string
  model?: string
  /** Session to resume; absent = a fresh session. */
  resumeSession?: string
  /** Directories outside the workspace that the agent may use (realpaths). */
  addDirs: string[]
  /** The workspace is no git repository or not trusted: skip the CLI's own check. */
  skipGitCheck: boolean
  /** Verification commands of the task, as written; a driver may allow the agent to run them. */
  commands: string[]
  /** Rules of this CLI that let further tool calls through, from `toolRules`. */
  toolRules: string[]
  /** The owner's wish: the CLI's own mode in which nothing is asked or refused. */
  unrestricted?: boolean
  /** Replaces the driver's program (argv prefix), from `harness.<name>.command`. */
  program?: string[]
  /** Further arguments from `harness.<name>.args`, before the prompt. */
  extraArgs: string[]
  /** `argument`, `stdin` or `file`: how the `command` driver hands over the prompt. */
  promptMode?: 'argument' | 'stdin' | 'file'
}

export interface LaunchLine {
  argv: string[]
  cwd: string
  /** Added to the allow-listed environment. */
  env: Record<string, string>
  /** Standard input is a file or empty, never an open pipe: two CLIs hang on one. */
  stdinFile: string | null
}

/** A refusal that the CLI told the model. Held until the turn ends. */
export interface Denial {
  /**
   * `scope` = path outside of what the agent may use, `tool` = a tool, command or mode needs approval, `filesystem` = the
   * operating system refused, `safety` = the CLI stopped something dangerous: never to be corrected.
   */
  kind: 'scope' | 'tool' | 'filesystem' | 'safety'
  tool: string
  /** The path or command it was about, as the CLI printed it; absent when the CLI does not say. */
  target?: string
  text: string
  /** The refused tool call, where the CLI gives its id. */
  callId?: string
}

/**
 * What drivers can tell apart, from structured fields and from the CLI's own fixed sentences in them. One vocabulary for
 * all CLIs, so that recovery needs no rule per CLI. Absent = it cannot be told.
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
 * With source `exit`: nothing was reported, the way it ended is all there is. `no_result` with source `stderr`: it had words there
 * that its driver does not know.
 */
export type ExitType = 'stopped' | 'signal' | 'no_result' | 'bad_exit'

/** A failure that the CLI itself reports in a structured field or, with a failing exit, on its own stderr. */
export interface ReportedError {
  source: 'event' | 'stderr' | 'exit'
  type?: FaultType
  /** The CLI's or server's own word for it (error enum, error code, kind of limit), as printed. */
  code?: string
  httpStatus?: number
  text: string
  /** When the provider says the limit ends. */
  resetAt?: Date
}

export interface Tokens {
  /** All input, with what came from or went into a cache. */
  input: number
  output: number
  /** The part of `input` that was read from a cache. */
  cachedInput: number
}

/** A retry that the CLI is doing by itself. Not a failure yet, but the best evidence when the CLI never comes back. */
export interface OwnRetry {
  attempt: number
  max?: number
  delayMs?: number
  error: ReportedError
}

/** A tool call without an answer so far. */
export interface OpenCall {
  id: string
  tool: string
  /** The file of its structured input. */
  path?: string
  command?: string
}

/** A tool call of the newest ones, to tell whether the agent goes in circles. */
export interface MadeCall {
  id: string
  /** Tool and what it was about. */
  name: string
  /** Digest of tool and input; absent where the CLI does not tell the whole input. */
  key?: string
  /** What it was answered, the middle of a long answer left out; absent until it is answered. */
  answer?: string
}

/** Everything learnt so far from one launch's output. Re-reading the same output gives the same value. */
export interface Reading {
  /** A session that can be resumed. */
  sessionId?: string
  /** A session that the CLI has named and would not resume yet. */
  announcedSession?: string
  model?: string
  cliVersion?: string
  /** The working directory as the CLI states it. */
  cwd?: string
  tokens: Tokens
  /** The message whose usage was counted last: a CLI may print one message as several lines, each with the same usage. */
  countedMessage?: string
  costUsd?: number
  toolCalls: number
  /** Last words of the model, for the commit body and for people. Never searched. */
  lastText: string
  /** The CLI sends a text in pieces, and the last one may not have been the end of it. */
  textOpen?: true
  denials: Denial[]
  /** Reported by the CLI, in order; the run may still have ended well. */
  errors: ReportedError[]
  /** Set while the CLI retries by itself, gone with the next answer of the model. */
  retry?: OwnRetry
  /** How often the CLI compacted its conversation since it last used a tool. */
  compactions?: number
  /** The provider refuses until then (or until it does not say), from a structured limit event. */
  limit?: { resetAt?: Date; code?: string }
  openCalls: OpenCall[]
  /** The CLI itself found that it goes in circles and ended its turn, which some of them report as a good end. */
  loopStopped?: true
  /** The newest calls, answered ones too. */
  calls: MadeCall[]
  /** The CLI's own final event. */
  final?: { isError: boolean; reason: string; text: string }
  /** Last lines of the CLI's own stderr. */
  stderrTail: string[]
  /** Last lines of standard output, of a program that has no events of its own. */
  stdoutTail?: string[]
  /** Lines that were not in the CLI's format; counted, never searched. */
  foreignLines: number
}

export interface AgentExit {
  code: number | null
  signal: string | null
  /** Why it ended when we ended it. */
  stopCause?: string
}

/** A line for people following the run. */
export interface AgentNote {
  kind: 'text' | 'tool' | 'tool_error' | 'denial' | 'error' | 'result'
  text: string
}

export type Settled = { ok: true; text: string } | { ok: false; error: ReportedError; fatal: true }

/** What a refused call may be let through for. */
export interface Permitted {
  workspace: string
  /** Commands that the launch allows already. */
  given: readonly string[]
  /** All commands that were asked for as checks of this task. */
  own: readonly string[]
}

export interface Driver {
  name: DriverName
  /** Program looked up on PATH when `program` is not configured; null = must be configured. */
  defaultProgram: string | null
  /** `session`: tokens count the whole resumed session, take differences; `launch`: this launch only; `none`: not told. */
  tokenScope: 'launch' | 'session' | 'none'
  /** Names of environment variables this CLI needs from the user, beyond the common allow-list. */
  environment: string[]
  /** Set for every start of the program that no launch line makes, such as for its version. */
  programEnv?: Record<string, string>
  /** What each measured version can do, at least one row. */
  measured: readonly Measured[]
  /** Where its credentials are, and how a person gives them. Absent = unknown. */
  login?: LoginTraces
  launch(request: LaunchRequest): LaunchLine
  /** Arguments with which a person goes on with this session in their own terminal. Absent = the CLI has no such way. */
  openSession?(session: string): string[]
  /**
   * The rules that would let this refused tool call through, for commands of the task and edits in its workspace alone.
   * Undefined = it is something else, or the CLI has no rule that helps. Absent = the CLI knows no rules for single tools.
   */
  toolRules?(denial: Pick<Denial, 'tool' | 'target'>, permitted: Permitted): string[] | undefined
  /** Rules that let exactly this refused call through, for a person who allows it; absent where the CLI takes none. */
  grantRules?(denial: Pick<Denial, 'tool' | 'target'>): string[]
  /** The option that takes one of these rules, for `harness.<name>.args`. Absent = there is none. */
  ruleOption?: string
  /** How a person allows a refused call in the options of this CLI, as the rest of "To allow it: …". */
  remedy?(refused: Refused, open: { stderr: readonly string[] }): string
  /** The user's own command line of this CLI. Absent = `unstuck exec` cannot supervise it. */
  userCommand?: UserCommand
  begin(): Reading
  /** Takes one line (without its newline). Pure: returns a new or the same reading and a note for people. */
  read(reading: Reading, stream: 'stdout' | 'stderr', line: string): { reading: Reading; note?: AgentNote }
  /** What the ended launch amounts to. Success needs the CLI's own final event without error, never the exit code alone. */
  settle(reading: Reading, exit: AgentExit): Settled
}
