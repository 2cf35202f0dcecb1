/**
 * The one place that starts git. Whatever the repository's configuration and the inherited environment contain, git starts no
 * hook, file system monitor, pager, editor, prompt, signing program or transport, and no content filter but those that a caller names.
 * Paths are literal everywhere. Outside of the user's own repository, git reads neither global nor system configuration.
 */
import { resolve } from 'node:path'
import { execa } from 'execa'
import { AppError, messageOf } from '../errors.ts'
import { gitDiagnostics, type Diagnostic } from '../platform/diagnostics.ts'
import { endWithGroup } from './end-group.ts'
import { startGit } from './git-starter.ts'
import type { GitCommand, GitExit } from './run-git.ts'
import { defined } from '../domain/defined.ts'

export interface GitOptions {
  cwd: string
  /** Without it git searches for a repository in `cwd` only, never in a folder above. */
  gitDir?: string
  workTree?: string
  indexFile?: string
  input?: string
  /** `latin1`: one character per byte, for output with lengths in bytes. Default: UTF-8. */
  encoding?: 'latin1'
  /** Replaces the inherited environment; every `GIT_*` in it is dropped. */
  environment?: Record<string, string | undefined>
  /** Variables that are added last, `GIT_*` included. */
  variables?: Record<string, string>
  config?: [key: string, value: string][]
  okCodes?: number[]
  /** `user` reads the user's global configuration (safe.directory, own filters); the default `unstuck` reads none. */
  owner?: 'user' | 'unstuck'
  /** Keeps the user's credential helpers. Only for access to a remote repository (`transport.ts`). */
  keepHelpers?: boolean
  timeoutMs?: number
  signal?: AbortSignal
  /** For `gitInCheckout`: drivers of the repository's own configuration that run nevertheless. */
  filters?: readonly string[]
  /** For output of a remote: limits its length, and ends git's helpers together with git. */
  foreign?: boolean
}

export interface GitResult {
  code: number
  stdout: string
  stderr: string
}

/** Each line prevents one way in which a repository's configuration could start a program or access the network. */
const safeConfig: [string, string][] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.alternateRefsCommand', 'true'],
  ['core.sshCommand', 'false'],
  ['core.askPass', 'true'],
  ['core.pager', 'cat'],
  ['core.editor', 'true'],
  ['credential.helper', ''],
  ['commit.gpgSign', 'false'],
  ['tag.gpgSign', 'false'],
  ['gpg.program', 'false'],
  ['log.showSignature', 'false'],
  ['merge.verifySignatures', 'false'],
  ['merge.autoStash', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['submodule.recurse', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  ['protocol.allow', 'never'],
  ['protocol.file.allow', 'always'],
  ['core.quotePath', 'false'],
  ['core.safecrlf', 'false'],
  ['core.splitIndex', 'false'],
  ['core.untrackedCache', 'false'],
]

/** Without global configuration git still reads default files of the home folder. These two lines prevent that. */
const ownConfig: [string, string][] = [
  ['core.excludesFile', '/dev/null'],
  ['core.attributesFile', '/dev/null'],
]

/** Inherited variables that would change git's behaviour. They are removed without reading the environment. */
const inherited =
  `ADVICE ALLOW_PROTOCOL ALTERNATE_OBJECT_DIRECTORIES ASKPASS ATTR_NOSYSTEM ATTR_SOURCE AUTHOR_DATE AUTHOR_EMAIL
  AUTHOR_NAME CEILING_DIRECTORIES COMMITTER_DATE COMMITTER_EMAIL COMMITTER_NAME COMMON_DIR CONFIG CONFIG_COUNT
  CONFIG_GLOBAL CONFIG_NOSYSTEM CONFIG_PARAMETERS CONFIG_SYSTEM DEFAULT_HASH DEFAULT_REF_FORMAT DIFF_OPTS DIR
  DISCOVERY_ACROSS_FILESYSTEM EDITOR EXEC_PATH EXTERNAL_DIFF FLUSH GLOB_PATHSPECS GRAFT_FILE ICASE_PATHSPECS
  IMPLICIT_WORK_TREE INDEX_FILE INDEX_VERSION INTERNAL_SUPER_PREFIX LITERAL_PATHSPECS MERGE_AUTOEDIT MERGE_VERBOSITY
  NAMESPACE NOGLOB_PATHSPECS NO_LAZY_FETCH NO_REPLACE_OBJECTS OBJECT_DIRECTORY OPTIONAL_LOCKS PAGER PREFIX PROTOCOL
  PROTOCOL_FROM_USER PROXY_COMMAND QUARANTINE_PATH REFLOG_ACTION REF_PARANOIA REF_STORAGE REPLACE_REF_BASE
  SEQUENCE_EDITOR SHALLOW_FILE SSH SSH_COMMAND SSH_VARIANT SSL_NO_VERIFY TEMPLATE_DIR TERMINAL_PROMPT TRACE
  TRACE2 TRACE2_EVENT TRACE2_PERF TRACE_CURL TRACE_FSMONITOR TRACE_PACKET TRACE_PACK_ACCESS TRACE_PERFORMANCE
  TRACE_REFS TRACE_SETUP TRACE_SHALLOW WORK_TREE`
    .split(/\s+/)
    .map((name): [string, undefined] => [`GIT_${name}`, undefined])

const fixed: Record<string, string> = {
  LC_ALL: 'C',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: 'true',
  SSH_ASKPASS: 'true',
  GIT_EDITOR: 'true',
  GIT_SEQUENCE_EDITOR: 'true',
  GIT_PAGER: 'cat',
  GIT_ADVICE: '0',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_ALLOW_PROTOCOL: 'file',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Unstuck',
  GIT_AUTHOR_EMAIL: 'unstuck@localhost.invalid',
  GIT_COMMITTER_NAME: 'Unstuck',
  GIT_COMMITTER_EMAIL: 'unstuck@localhost.invalid',
}

const configVariables = (config: [string, string][]): Record<string, string> => {
  const entries = config.flatMap(([key, value], index): [string, string][] => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ])
  return { GIT_CONFIG_COUNT: String(config.length), ...Object.fromEntries(entries) }
}

const placeVariables = (options: GitOptions): Record<string, string> => ({
  ...(options.gitDir === undefined ? { GIT_CEILING_DIRECTORIES: parentOf(options.cwd) } : { GIT_DIR: options.gitDir }),
  ...defined({ GIT_WORK_TREE: options.workTree, GIT_INDEX_FILE: options.indexFile }),
})

const parentOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf('/'), 1))

const environmentOf = (options: GitOptions): Record<string, string | undefined> => {
  const own = options.owner !== 'user'
  const kept = Object.entries(options.environment ?? {}).filter(([name]) => !name.startsWith('GIT_'))
  const safe = options.keepHelpers === true ? safeConfig.filter(([key]) => key !== 'credential.helper') : safeConfig
  return {
    ...Object.fromEntries(options.environment === undefined ? inherited : kept),
    ...fixed,
    ...(own ? { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' } : {}),
    ...configVariables([...safe, ...(own ? ownConfig : []), ...(options.config ?? [])]),
    ...placeVariables(options),
    ...options.variables,
  }
}

const ownBounds = 512 * 1024 * 1024
/** In characters. Enough for about 800,000 refs, and for any useful message of a remote hook. */
const foreignBounds = { stdout: 64 * 1024 * 1024, stderr: 4 * 1024 * 1024 }

/** Git that talks to a remote is started here, in a process group of its own that is ended with it. */
const runForeign = async ({ timeoutMs, ...command }: GitCommand, signal: AbortSignal | undefined): Promise<GitExit> => {
  const { args, cwd, env, extendEnv, input, encoding } = command
  const running = execa('git', args, {
    ...{ cwd, env, extendEnv, input, maxBuffer: foreignBounds, detached: true, timeout: timeoutMs, reject: false },
    ...{ stripFinalNewline: false },
    ...defined({ encoding, cancelSignal: signal }),
  })
  const { exitCode, signal: endedBy, cause, ...ended } = await endWithGroup(running, timeoutMs)
  return {
    ...defined({ exitCode, signal: endedBy }),
    ...(cause === undefined ? {} : { reason: messageOf(cause) }),
    ...{ timedOut: ended.timedOut, isCanceled: ended.isCanceled, isMaxBuffer: ended.isMaxBuffer },
    ...{ stdout: ended.stdout ?? '', stderr: ended.stderr ?? '' },
  }
}

/** Paths and object names can be thousands, and a message of a remote may hold a secret: neither is reported as a whole. */
const diagnosticOf = (
  args: string[],
  { workTree, cwd }: GitOptions,
  { result, began }: { result: GitExit; began: number },
): Diagnostic => ({
  message: 'a git command ended',
  fields: {
    command: `git ${args.slice(0, 12).join(' ').slice(0, 300)}`,
    folder: workTree ?? cwd,
    status: result.exitCode ?? result.signal ?? result.reason,
    ms: Math.round(performance.now() - began),
  },
})

/** Runs one git command. Throws GIT_FAILED, with the command, for an exit code outside of `okCodes` (default: only 0). */
export const git = async (args: string[], options: GitOptions): Promise<GitResult> => {
  const { input = '', encoding, timeoutMs = 600_000, signal } = options
  const command: GitCommand = {
    ...{ args, cwd: resolve(options.cwd), env: environmentOf(options), extendEnv: options.environment === undefined },
    ...{ input, timeoutMs, maxBuffer: ownBounds },
    ...defined({ encoding }),
  }
  const began = performance.now()
  const result = await (options.foreign === true ? runForeign(command, signal) : startGit(command, signal))
  if (gitDiagnostics.hasSubscribers) gitDiagnostics.publish(diagnosticOf(args, options, { result, began }))
  if (result.exitCode !== undefined && !result.isMaxBuffer && (options.okCodes ?? [0]).includes(result.exitCode)) {
    return { code: result.exitCode, stdout: result.stdout, stderr: result.stderr }
  }
  throw new AppError('GIT_FAILED', failureText(args, options, result), { cause: result })
}

const saidBy = ({ stderr }: GitExit): string => stderr.trim().slice(0, 800)

const failureText = (args: string[], options: GitOptions, result: GitExit): string => {
  const attempt = `git ${args.slice(0, 3).join(' ')} in ${options.workTree ?? options.cwd}`
  if (result.timedOut && options.foreign === true) return `${attempt} timed out`
  if (result.timedOut) return `${attempt} timed out; check whether a file there blocks when it is read`
  if (result.isCanceled) return `${attempt} was cancelled`
  if (result.isMaxBuffer) return `${attempt} printed too much; stderr begins with: ${saidBy(result)}`
  if (result.signal !== undefined) return `${attempt} was ended by ${result.signal}: ${saidBy(result)}`
  if (result.exitCode === undefined) {
    return `${attempt} could not be run: ${result.reason ?? 'no reason was given'}; git 2.39 or newer must be on PATH, and the folder must exist`
  }
  return `${attempt} failed with exit code ${result.exitCode}: ${saidBy(result)}`
}

/**
 * Configuration that switches off the filter drivers defined by the repository, but for those in `options.filters`. Drivers of the user's
 * configuration stay.
 */
const repositoryFilters = async (options: GitOptions): Promise<[string, string][]> => {
  const args = ['config', '--includes', '--show-scope', '-z', '--name-only', '--get-regexp', '^filter\\.']
  const { stdout } = await git(args, { ...options, input: '', okCodes: [0, 1] })
  const fields = stdout.split('\0')
  const names = new Set<string>()
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const key = fields[index + 1] ?? ''
    const fromUser = fields[index] === 'global' || fields[index] === 'system'
    const name = key.slice('filter.'.length, key.lastIndexOf('.'))
    if (!fromUser && options.filters?.includes(name) !== true) names.add(name)
  }
  return [...names].flatMap((name): [string, string][] => [
    [`filter.${name}.clean`, ''],
    [`filter.${name}.smudge`, ''],
    [`filter.${name}.process`, ''],
    [`filter.${name}.required`, 'false'],
  ])
}

/** Runs a command that reads or writes files of the user's checkout, without filters that the repository defines. */
export const gitInCheckout = async (args: string[], options: GitOptions): Promise<GitResult> => {
  const user: GitOptions = { ...options, owner: 'user' }
  return git(args, { ...user, config: [...(options.config ?? []), ...(await repositoryFilters(user))] })
}

/** The output of a command that prints one line. */
export const gitLine = async (args: string[], options: GitOptions): Promise<string> =>
  (await git(args, options)).stdout.replace(/\n$/, '')

/** Splits the output of `-z`. */
export const fieldsOf = (stdout: string): string[] => {
  const fields = stdout.split('\0')
  if (fields.at(-1) === '') fields.pop()
  return fields
}

/** Throws unless the value is a full object name, so that git never reads a value as an option or expression. */
export const objectName = (value: string): string => {
  if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(value)) throw new Error(`not an object name: ${JSON.stringify(value)}`)
  return value
}

/** Throws INPUT_INVALID for a name that git would not accept as a full ref, before it is used on a command line. */
export const refName = (value: string): string => {
  const bad = /[\0-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|\/\.|\.lock(?:\/|$)|[./]$/
  if (!value.startsWith('refs/') || bad.test(value)) {
    throw new AppError(
      'INPUT_INVALID',
      `${JSON.stringify(value)} is not a branch name that git accepts; choose another name`,
    )
  }
  return value
}
