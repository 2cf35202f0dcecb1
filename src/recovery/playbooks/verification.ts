/** Rung 4: a verification command cannot be run as it stands. A real test failure has no playbook here: it is never dropped. */
import type { Playbook } from '../playbook.ts'

/** What every drop has in common: a check must be left, and those that are left must run and pass. */
const drop = {
  rung: 4,
  scope: 'run',
  plan: ({ facts }) =>
    facts.command === undefined || (facts.remaining ?? 0) < 1
      ? undefined
      : { type: 'drop_command', name: 'DROP_COMMAND', command: facts.command },
  postCondition: () => ({ type: 'remaining_checks_pass' }),
  budget: 5,
  counted: true,
} satisfies Partial<Playbook>

export const missingScriptDrop: Playbook = {
  ...drop,
  id: 'missing-script-drop',
  title: 'Drop a verification command whose package script does not exist',
  answers: ['missing_script'],
  needs: 'the command calls a package script, the manifest has no such script, and at least one other check remains',
}

export const noTestsDrop: Playbook = {
  ...drop,
  id: 'no-tests-drop',
  title: 'Drop a verification command whose runner finds no test, now and on the base commit',
  answers: ['no_test_files'],
  needs:
    'the runner itself says that it ran no test, it ran none on the base commit either, and at least one other check remains',
  plan: (diagnosis) => (diagnosis.facts.emptyBefore === true ? drop.plan(diagnosis) : undefined),
}

export const unsupportedFormatDrop: Playbook = {
  ...drop,
  id: 'unsupported-format-drop',
  title: 'Drop a verification command that cannot be run without a shell',
  answers: ['unsupported_format'],
  needs: 'the command line itself holds something that only a shell understands, and at least one other check remains',
}
