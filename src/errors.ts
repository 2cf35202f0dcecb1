/**
 * The table of operational errors: code, HTTP status and exit code of the CLI. API, CLI and docs/errors.md use it.
 * Expected outcomes are values, not errors; bugs throw plain errors.
 */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  needsPerson: 3,
  notFound: 4,
  conflict: 5,
  unavailable: 69,
  waiting: 75,
  config: 78,
} as const

interface ErrorRow {
  status: number
  exit: number
  title: string
}

export const errorTable = {
  USAGE: { status: 400, exit: exitCodes.usage, title: 'The command line or request is wrong' },
  INPUT_INVALID: { status: 400, exit: exitCodes.usage, title: 'A file or field has a value that is not allowed' },
  CONFIG_INVALID: { status: 422, exit: exitCodes.config, title: 'A configuration file is not valid' },
  NOT_A_REPOSITORY: { status: 400, exit: exitCodes.usage, title: 'The folder is not a git repository' },
  REPOSITORY_STATE: {
    status: 409,
    exit: exitCodes.conflict,
    title: 'The repository is in a state in which no work can start',
  },
  NOT_FOUND: { status: 404, exit: exitCodes.notFound, title: 'The goal, task, run or snapshot does not exist' },
  ILLEGAL: { status: 409, exit: exitCodes.conflict, title: 'The change is not possible in the current state' },
  STALE: { status: 409, exit: exitCodes.conflict, title: 'Another command changed it first' },
  ENGINE_UNAVAILABLE: {
    status: 503,
    exit: exitCodes.unavailable,
    title: 'The engine of this repository does not respond',
  },
  ENGINE_RUNNING: { status: 409, exit: exitCodes.conflict, title: 'An engine already runs for this repository' },
  STORE_LOCKED: { status: 409, exit: exitCodes.conflict, title: 'Another process uses the store' },
  STORE_VERSION: { status: 500, exit: exitCodes.config, title: 'The store was written by another version of Unstuck' },
  STORE_LOST: {
    status: 500,
    exit: exitCodes.config,
    title:
      'There was a store of this repository, and it is gone; a new one begins only with `unstuck store rebuild` or `new`',
  },
  STORE_UNAVAILABLE: {
    status: 503,
    exit: exitCodes.unavailable,
    title: 'The database of the store does not respond',
  },
  UNAUTHORISED: {
    status: 401,
    exit: exitCodes.unavailable,
    title: 'The token, login or login code is missing or wrong',
  },
  FORBIDDEN_ORIGIN: {
    status: 403,
    exit: exitCodes.unavailable,
    title: 'The Host or Origin header is not that of this engine',
  },
  FROM_A_RUN: {
    status: 403,
    exit: exitCodes.failed,
    title: 'Only a person may do this, and the request came from a program that an agent started',
  },
  NOT_PROVED: {
    status: 403,
    exit: exitCodes.failed,
    title:
      'Only a person may do this, and nothing but a secret shows one: not the Unix socket of the engine, and no session of a browser',
  },
  METHOD_NOT_ALLOWED: { status: 405, exit: exitCodes.usage, title: 'The path exists, but not with this method' },
  MEDIA_TYPE: { status: 415, exit: exitCodes.usage, title: 'The Content-Type of the request body is not JSON' },
  BODY_TOO_LARGE: { status: 413, exit: exitCodes.usage, title: 'The request body is too large' },
  TOO_MANY: {
    status: 429,
    exit: exitCodes.unavailable,
    title: 'Too many requests in a short time, or too many event streams of one login',
  },
  DIRECTORY_MISSING: { status: 422, exit: exitCodes.failed, title: 'A required folder is missing' },
  PERMISSION: { status: 422, exit: exitCodes.failed, title: 'A required folder cannot be read or written' },
  REMOTE_UNAVAILABLE: { status: 503, exit: exitCodes.unavailable, title: 'The git remote does not respond' },
  REMOTE_REFUSED: {
    status: 422,
    exit: exitCodes.config,
    title: 'The git remote refuses the login or a push, or is not a repository',
  },
  GIT_FAILED: { status: 500, exit: exitCodes.failed, title: 'A git command failed' },
  HARNESS_MISSING: { status: 422, exit: exitCodes.config, title: 'The program of the harness was not found' },
  SPAWN_FAILED: { status: 500, exit: exitCodes.failed, title: 'A process could not be started' },
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof errorTable

/** An operational error. Its message names what is wrong and what to do next. */
export class AppError extends Error {
  readonly code: ErrorCode
  constructor(code: ErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options)
    this.name = 'AppError'
    this.code = code
  }
}

/** Returns the text of anything that was thrown, for a message that contains it. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
