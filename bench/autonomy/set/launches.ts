/** Faults around an agent's process: before its launch, at its provider and in its progress. */
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { FaultEnvironment } from '../faults.ts'
import type { SetEntry } from './entry.ts'
import { killEngine } from './scenes.ts'
import { pick, single } from './work.ts'

const nothing = {}

const sideFolder = ({ memory }: FaultEnvironment): string => join(memory, '..', 'side')

const makeSide = (scene: FaultEnvironment): void => void mkdirSync(join(sideFolder(scene), 'deep'), { recursive: true })

const limitText = "You've hit your limit"

const provider: SetEntry[] = [
  {
    ...{ name: 'limit with its reset time', seed: 201, faults: ['llm_quota'] },
    ...{ recoverable: true, reason: 'Provider: the task waits until the stated reset.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(seed, [
        {
          when: { untilSeconds: 15 },
          end: { refuse: limitText, status: 429, error: 'rate_limit', resetsIn: 15 },
        },
      ]),
  },
  {
    ...{ name: 'limit without a reset time', seed: 202, faults: ['provider_limit'] },
    ...{ recoverable: true, reason: 'Provider: without a reset time a cooldown is waited for.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(seed, [
        { when: { launches: [1, pick(seed, [1, 2])] }, end: { refuse: limitText, status: 429, error: 'rate_limit' } },
      ]),
  },
  {
    ...{ name: 'overloaded provider', seed: 203, faults: ['provider_overloaded'] },
    ...{ recoverable: true, reason: 'Provider: an overload is retried with a growing wait.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(seed, [
        {
          when: { launches: [1, pick(seed, [1, 2])] },
          end: { refuse: 'API Error: 529 Overloaded', status: 529, error: 'overloaded' },
        },
      ]),
  },
  {
    ...{ name: 'context overflow', seed: 206, faults: ['context_overflow'] },
    ...{ recoverable: true, reason: 'Provider: a full context is left for a fresh session.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(seed, [
        {
          when: { launches: [1, 1] },
          end: { refuse: 'Prompt is too long', status: 400, reason: 'prompt_too_long' },
        },
      ]),
  },
  {
    ...{ name: 'not logged in', seed: 208, faults: ['auth_failure'] },
    ...{ recoverable: false, reason: 'A login is not retryable: only a person can log in.', expected: 'question' },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(seed, [
        { end: { refuse: 'Not logged in · Please run /login', status: 401, error: 'authentication_failed' } },
      ]),
  },
]

const permission: SetEntry[] = [
  {
    ...{ name: 'untrusted folder', seed: 101, faults: ['untrusted_folder'] },
    ...{ recoverable: true, reason: 'Permission: relaunched with --skip-git-repo-check.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(
        seed,
        [
          {
            when: { withoutArgument: '--skip-git-repo-check' },
            end: {
              exit: 1,
              text: 'Not inside a trusted directory and --skip-git-repo-check was not specified.',
            },
          },
        ],
        { cli: 'codex' },
      ),
  },
  {
    ...{ name: 'directory outside, allowed', seed: 102, faults: ['directory_scope'] },
    ...{
      recoverable: true,
      reason: 'Permission: a folder of allowedDirs is added at the relaunch.',
      expected: 'lands',
    },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(seed, [{ when: { withoutArgument: '<side>/deep' }, end: { denied: '<side>/deep/notes.md' } }], {
        ...{ prepare: makeSide, options: ['--allow-dir', '<side>'] },
      }),
  },
  {
    ...{ name: 'repository without write permission', seed: 104, faults: ['owner_bits'] },
    ...{ recoverable: true, reason: 'Preparing: missing owner bits of the repository folder are added.' },
    ...{ expected: 'lands', forbidden: nothing },
    scene: (seed) => single(seed, [], { spoil: ({ project }) => chmodSync(project, pick(seed, [0o550, 0o500])) }),
  },
  {
    ...{ name: 'version of the CLI refuses an option', seed: 105, faults: ['launch_refused'] },
    ...{ recoverable: false, reason: 'No correction fits an option that the installed CLI does not have.' },
    ...{ expected: 'question', forbidden: nothing },
    scene: (seed) => single(seed, [{ end: { exit: 1, text: "error: unknown option '--output-format'" } }]),
  },
]

const progress: SetEntry[] = [
  {
    ...{ name: 'silence', seed: 301, faults: ['silence'] },
    ...{ recoverable: true, reason: 'Progress: a silent agent is restarted with a hint.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) => single(seed, [{ when: { launches: [1, 1] }, end: 'silence' }]),
  },
  {
    ...{ name: 'hangs after its result', seed: 303, faults: ['hang_after_result'] },
    ...{ recoverable: true, reason: 'Progress: a CLI that does not exit is ended, and its result counts.' },
    ...{ expected: 'lands', forbidden: nothing },
    scene: (seed) => single(seed, [{ acts: ['right'], end: 'result then silence' }]),
  },
  {
    ...{ name: 'doom loop', seed: 304, faults: ['model_doom_loop'] },
    ...{
      recoverable: true,
      reason: 'Progress: an agent that repeats itself is restarted with a hint.',
      expected: 'lands',
    },
    ...{ forbidden: nothing },
    scene: (seed) => single(seed, [{ when: { launches: [1, 1] }, end: 'same call again and again' }]),
  },
  {
    ...{ name: 'no changes', seed: 305, faults: ['no_changes'] },
    ...{
      recoverable: true,
      reason: 'Progress: an agent that changed nothing is restarted with a hint.',
      expected: 'lands',
    },
    ...{ forbidden: nothing },
    scene: (seed) => single(seed, [{ when: { launches: [1, pick(seed, [1, 2])] }, end: { say: 'All done.' } }]),
  },
  {
    ...{ name: 'crash of the CLI', seed: 306, faults: ['unknown'] },
    ...{ recoverable: true, reason: 'An unknown exit is restarted once.', expected: 'lands', forbidden: nothing },
    scene: (seed) =>
      single(seed, [
        {
          when: { launches: [1, 1] },
          acts: ['right'],
          end: { exit: pick(seed, [1, 9]), text: 'something odd happened' },
        },
      ]),
  },
  {
    ...{ name: 'engine killed', seed: 309, faults: ['engine_died'] },
    ...{
      recoverable: true,
      reason: 'The restarted engine re-attaches to the agent; nothing is lost.',
      expected: 'lands',
    },
    ...{ forbidden: nothing },
    scene: (seed) => single(seed, [{ acts: ['wait', 'right'] }], { meanwhile: killEngine }),
  },
]

export const launchEntries: readonly SetEntry[] = [...permission, ...provider, ...progress]
