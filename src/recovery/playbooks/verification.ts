/** Rung 4: a verification command cannot be run as it stands. A real test failure has no playbook here: it is never dropped. */
import { redText } from '../../domain/still-red.ts'
import { playbook, type Playbook, type PlaybookFor } from '../playbook.ts'

const exampleCheck = { command: '<command>', remaining: 1 }

/** Whatever the check's output says: an install cannot make a failing check pass that did run, and the check decides afterwards. */
const dependencyInstall = playbook({
  id: 'dependency-install',
  rung: 4,
  scope: 'run',
  title: 'Install what the lockfile names, in the clone, and run the check again',
  answers: ['dependency_missing', 'command_not_found', 'corrupted_install', 'dependency_version_conflict'],
  needs:
    'a check that misses a package or a program, in a folder that a package manager of the same language governs; the work is done in a clone of its own',
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

const sequenceReorder = playbook({
  ...run,
  id: 'sequence-reorder',
  title: 'Run a check after the build that makes what it needs, or before the clean that takes it away',
  answers: ['sequence_issue'],
  needs:
    'a check that misses the output of a build, which another check of the plan makes later or took away before; the same checks run, in another order',
  example: { ...exampleCheck, order: [] },
  plan: ({ facts: { command, order } }) =>
    order === undefined ? undefined : { type: 'reorder', name: 'REORDER_COMMANDS', command, order },
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
  title: 'Run a package script of the same intent in the place of one that does not exist',
  answers: ['missing_script'],
  needs:
    'the manifest has no such script, and neither has the base commit; it has one of the same intent (test, lint, types, build), equal in the base commit and not among the checks already',
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
  title: 'Run a check of all packages for those that the change can affect',
  answers: ['missing_script', 'no_test_files', 'dependency_missing', 'command_not_found'],
  needs:
    'an npm or pnpm script that is run in all packages and that the base commit cannot run for the same reason; the change lies in some packages, which have the script, as have all that depend on them',
  example: { ...exampleCheck, narrowed: '<narrowed command>' },
  plan: ({ facts: { command, narrowed } }) =>
    narrowed === undefined ? undefined : { type: 'replace_command', name: 'NARROW_COMMAND', command, by: narrowed },
  postCondition: ranInstead,
  budget: 3,
})

type Droppable = 'missing_script' | 'missing_make_target' | 'no_test_files' | 'unsupported_format'

/**
 * What every drop has in common: facts show that it checks nothing, a check must be left (unless documentation alone changed),
 * and those that are left must run and pass. Of a chain the element that failed is dropped, and the others stay.
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
  answers: ['missing_script'],
  needs: 'the command calls a package script, the manifest has no such script, and at least one other check remains',
})

const makeTargetDrop = playbook({
  ...drop,
  id: 'make-target-drop',
  title: 'Drop a verification command whose make target does not exist',
  answers: ['missing_make_target'],
  needs:
    'make says that it has no rule for a target that the command names, the makefile has none, the command fails so on the base commit too, and at least one other check remains',
})

const noTestsDrop = playbook({
  ...drop,
  id: 'no-tests-drop',
  title: 'Drop a verification command whose runner finds no test, now and on the base commit',
  answers: ['no_test_files'],
  needs:
    'the runner counted no test and no file that failed, or the file that it was given is not there; it was the same on the base commit, and at least one other check remains',
})

const unsupportedFormatDrop = playbook({
  ...drop,
  id: 'unsupported-format-drop',
  title: 'Drop a verification command that cannot be run without a shell',
  answers: ['unsupported_format'],
  needs: 'the command line itself holds something that only a shell understands, and at least one other check remains',
})

const question = (command: string, why: string): string =>
  [
    'The verification command below cannot be run as it stands, so nothing can be said about the work.',
    `Command: ${command}`,
    `Why: ${why}`,
    'It is started without a shell: programs with arguments, joined by "&&"; no pipe, redirect, variable or substitution.',
    'Name one command that checks the same in this repository. It may use only package scripts and make targets that are called like checks (test, lint, types, build and so on) and files, all of which the repository had before your work, or the same program. Change no file.',
    'Answer with that command alone, on one line.',
  ].join('\n')

/** The last way, because it costs a turn: where nothing of the check would be left otherwise. */
const commandFix = playbook({
  id: 'command-fix',
  rung: 4,
  scope: 'launch',
  title: 'Ask the agent for a command that checks the same and can be run',
  answers: ['unsupported_format', 'invalid_usage', 'missing_script', 'missing_make_target', 'no_test_files'],
  needs:
    'the same as for a drop, or a command line that its own program does not take, on the base commit either; an answer counts only if it plans without a shell and its script or make target is called as checks are and in the base commit, as a file is, or its program the one that was asked for',
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

/** One turn is worth asking, because the task may be to mend just these; a second would only press the agent to touch them. */
const redBefore = playbook({
  id: 'red-before',
  rung: 4,
  scope: 'launch',
  title: 'Tell the agent once which tests failed before its work and still fail',
  answers: ['red_before'],
  needs:
    'every check passes but for tests of the contract or of what was inferred that fail on the base commit as well, and that verify.knownFailures does not name',
  example: { red: [{ command: '<command>', failing: ['<test>'] }] },
  plan: ({ facts: { red } }) => ({
    ...{ type: 'relaunch', name: 'TELL_RED_TESTS', red, resume: true },
    hint: `Your work passes its checks, but these tests failed before your work and still fail: ${redText(red)}. If the task is to mend any of them, mend it now in the code, without weakening the test. If it is not, leave them as they are and end your turn.`,
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
