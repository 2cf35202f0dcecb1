/** Rung 4: a verification command cannot be run as written. A real test failure is never dropped, so it has no playbook here. */
import { failuresText } from '../../domain/preexisting-failures.ts'
import { playbook, type Playbook, type PlaybookFor } from '../playbook.ts'
import { defined } from '../../domain/defined.ts'

const exampleCheck = { command: '<command>', remaining: 1 }

/** Safe even if the output misleads: an install cannot fix a check that ran and failed, and the check runs again. */
const dependencyInstall = playbook({
  id: 'dependency-install',
  rung: 4,
  scope: 'run',
  title: 'Install what the lockfile names in the clone, and run the check again',
  labels: ['dependency_missing', 'command_not_found', 'corrupted_install', 'dependency_version_conflict'],
  neededEvidence:
    'a check that lacks a package or a program, in a folder that a package manager of the same language governs; the run has its own clone',
  example: { ...exampleCheck, install: { manager: '<manager>', folder: '', commands: [] } },
  plan: ({ facts }) =>
    facts.install === undefined
      ? undefined
      : { type: 'install', name: 'INSTALL_DEPENDENCIES', command: facts.command, install: facts.install },
  postCondition: (action) => ({ type: 'check_runs', command: action.type === 'install' ? action.command : '' }),
  budget: 3,
  counted: true,
})

const run = { rung: 4, scope: 'run', counted: true } satisfies Partial<Playbook>

export const sequenceReorder = playbook({
  ...run,
  id: 'sequence-reorder',
  title: 'Run a check after the build that produces its input, or before the clean-up that removes it',
  labels: ['sequence_issue'],
  neededEvidence:
    'a check that lacks the output of a build, which another check of the plan produces later or removed earlier, or after which it was seen to run: a package script or make target of the base commit, tried in the clone. The same checks run, in another order or after that build',
  example: { ...exampleCheck, order: [] },
  plan: ({ facts: { command, order, build, install } }) =>
    order === undefined
      ? undefined
      : {
          ...{ type: 'reorder', name: 'REORDER_COMMANDS', command, order },
          ...defined({ build, install }),
        },
  postCondition: (action) => ({ type: 'check_runs', command: action.type === 'reorder' ? action.command : '' }),
  budget: 3,
})

const ranInstead: Playbook['postCondition'] = (action) => ({
  type: 'check_runs',
  command: action.type === 'replace_command' ? action.by : '',
})

const scriptReplacement = playbook({
  ...run,
  id: 'script-replacement',
  title: 'Run a package script of the same purpose instead of one that does not exist',
  labels: ['missing_script'],
  neededEvidence:
    'neither the manifest nor the base commit has the script; both have the same script of the same purpose (test, lint, types, build), and that script is not one of the checks yet',
  example: { ...exampleCheck, replacement: '<replacement>' },
  plan: ({ facts: { command, replacement } }) =>
    replacement === undefined
      ? undefined
      : { type: 'replace_command', name: 'REPLACE_COMMAND', command, by: replacement },
  postCondition: ranInstead,
  budget: 5,
})

const packageNarrowing = playbook({
  ...run,
  id: 'package-narrowing',
  title: 'Run a check of all packages only for those that the change can affect',
  labels: ['missing_script', 'no_test_files', 'dependency_missing', 'command_not_found'],
  neededEvidence:
    'an npm or pnpm script that runs in all packages and that the base commit cannot run for the same reason; the change lies in some packages, and these and all that depend on them have the script',
  example: { ...exampleCheck, narrowed: '<narrowed command>' },
  plan: ({ facts: { command, narrowed } }) =>
    narrowed === undefined ? undefined : { type: 'replace_command', name: 'NARROW_COMMAND', command, by: narrowed },
  postCondition: ranInstead,
  budget: 3,
})

type Droppable = 'missing_script' | 'missing_make_target' | 'no_test_files' | 'unsupported_format'

/**
 * What all drops have in common: facts show that the command checks nothing, another check must remain (unless only
 * documentation changed), and the remaining checks must run and pass. In a chain, only the failed element is dropped.
 */
const drop = {
  ...run,
  example: { ...exampleCheck, droppable: true },
  plan: ({ facts: { command, remaining, droppable, rest, needsNone } }) => {
    if (droppable !== true) return undefined
    if (rest !== undefined) return { type: 'drop_command', name: 'DROP_COMMAND', command, rest }
    return remaining < 1 && needsNone !== true ? undefined : { type: 'drop_command', name: 'DROP_COMMAND', command }
  },
  postCondition: () => ({ type: 'remaining_checks_pass' }),
  budget: 5,
} satisfies Partial<PlaybookFor<Droppable>>

const missingScriptDrop = playbook({
  ...drop,
  id: 'missing-script-drop',
  title: 'Drop a verification command whose package script does not exist',
  labels: ['missing_script'],
  neededEvidence:
    'the command calls a package script that the manifest does not have, and at least one other check remains',
})

const makeTargetDrop = playbook({
  ...drop,
  id: 'make-target-drop',
  title: 'Drop a verification command whose make target does not exist',
  labels: ['missing_make_target'],
  neededEvidence:
    'make reports that it has no rule for a target of the command, the makefile has none, the command fails in the same way on the base commit, and at least one other check remains',
})

const noTestsDrop = playbook({
  ...drop,
  id: 'no-tests-drop',
  title: 'Drop a verification command whose runner finds no test, now and on the base commit',
  labels: ['no_test_files'],
  neededEvidence:
    'the runner counted no test and no failed file, or its file argument does not exist; the base commit gives the same result, and at least one other check remains',
})

const unsupportedFormatDrop = playbook({
  ...drop,
  id: 'unsupported-format-drop',
  title: 'Drop a verification command that needs a shell or never ends, or run its part that does not',
  labels: ['unsupported_format'],
  neededEvidence:
    'the command line contains something that only a shell understands, or its package script waits for changes of files; a part or a form of it can be run, or at least one other check remains',
})

const question = (command: string, why: string): string =>
  [
    'The verification command below cannot be run as written, so the work cannot be verified.',
    `Command: ${command}`,
    `Why: ${why}`,
    'Commands are started without a shell: programs with arguments, joined by "&&"; no pipe, redirect, variable or substitution.',
    'Name one command that checks the same thing in this repository. It may use only the same program, files, and package scripts and make targets named like checks (test, lint, types, build and so on), all of which must have existed before your work. Do not change any file.',
    'Answer with that command only, on one line.',
  ].join('\n')

/** The last resort, because it costs a turn: only where nothing of the check would be left otherwise. */
const commandFix = playbook({
  id: 'command-fix',
  rung: 4,
  scope: 'launch',
  title: 'Ask the agent for a command that checks the same thing and can be run',
  labels: ['unsupported_format', 'invalid_usage', 'missing_script', 'missing_make_target', 'no_test_files'],
  neededEvidence:
    'the same as for a drop, or a command line that its own program rejects, on the base commit as well. A reply counts only if it needs no shell and starts a script or make target of the base commit that is named like a check, a file of the base commit, or the program of the original command',
  example: { ...exampleCheck, askable: true },
  plan: ({ facts: { command, askable }, evidence }) =>
    askable !== true
      ? undefined
      : {
          ...{ type: 'relaunch', name: 'ASK_FOR_COMMAND', ask: command, resume: false },
          hint: question(command, evidence),
        },
  postCondition: (action) => ({ type: 'check_runs', command: action.type === 'relaunch' ? (action.ask ?? '') : '' }),
  budget: 2,
  counted: true,
})

/** Once, because the task may be to fix these tests. A second turn would only push the agent to change the tests. */
const redBefore = playbook({
  id: 'red-before',
  rung: 4,
  scope: 'launch',
  title: 'Tell the agent once which tests failed before its work and still fail',
  labels: ['red_before'],
  neededEvidence:
    'every check passes, except for tests of the contract or of inferred checks that fail on the base commit as well and that `verify.knownFailures` does not list',
  example: { red: [{ command: '<command>', failing: ['<test>'] }] },
  plan: ({ facts: { red } }) => ({
    ...{ type: 'relaunch', name: 'TELL_RED_TESTS', red, resume: true },
    hint: `Your work passes its checks, but these tests failed before your work and still fail: ${failuresText(red)}. If the task is to fix any of them, fix them now in the code, without weakening the tests. If it is not, leave them as they are and end your turn.`,
  }),
  postCondition: (action) => ({ type: 'tests_pass', red: action.type === 'relaunch' ? (action.red ?? []) : [] }),
  budget: 1,
  counted: true,
})

export const verificationPlaybooks: readonly Playbook[] = [
  dependencyInstall,
  sequenceReorder,
  scriptReplacement,
  packageNarrowing,
  missingScriptDrop,
  makeTargetDrop,
  noTestsDrop,
  unsupportedFormatDrop,
  commandFix,
  redBefore,
]
