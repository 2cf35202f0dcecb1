/** What a playbook of the owner does, as a person reads it. Pure. */
import { budgetOf, postConditionOf, type OwnPlaybook } from './own-playbook.ts'

const conditionText: Record<string, string> = {
  check_passes: 'the check has to pass then',
  check_runs: 'the check has to pass then, or to fail in another way',
  fewer_failures: 'fewer failures have to be left then',
  agent_ends: 'the agent has to end without an error then',
}

const actionText = ({ action, match }: OwnPlaybook): string => {
  switch (action.type) {
    case 'wait':
      return `waits ${action.seconds} s and repeats ${match.failure === 'check' ? 'the checks' : 'the task'}`
    case 'run':
      return `runs \`${action.command}\` and repeats the checks`
    case 'hint':
      return `tells the agent: ${action.text}`
    case 'ask':
      return `asks a person: ${action.question}`
    case 'switch_harness':
      return `continues with ${action.harness ?? 'the next harness of harness.failover'}`
    case 'blame_environment':
      return 'treats it as a failure of the environment: the task waits, and no agent is charged with it'
  }
}

const timesText = (count: number): string => (count === 1 ? 'once' : `at most ${count} times`)

/** One line: action, post-condition, budget, and what follows. */
export const ownText = (playbook: OwnPlaybook): string => {
  const condition = postConditionOf(playbook)
  const what = actionText(playbook)
  if (condition === undefined) return what
  const then = playbook.then === 'ask' ? 'then a person is asked' : 'then the built-in playbooks go on'
  return `${what}; ${conditionText[condition] ?? condition}; ${timesText(budgetOf(playbook))}, ${then}`
}
