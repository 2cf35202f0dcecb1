/**
 * The plan of a check. People and models write checks as they type them in a terminal, with the output cut: `npm test 2>&1 | tail -20`. What
 * only shortens or joins output is left out: it changes nothing about what is checked, and in a shell it would hide a failure, because
 * the status of a pipe is that of its last program. So is the option of a runner to wait for changes, with which no check ever ends.
 */
import { planCommand, type CommandPlan, type CommandStep } from './command-plan.ts'
import { commandText, watchers, watches } from './replacement.ts'

const cut = String.raw`\|&?\s*(?:(?:tail|head)(?:\s+-{1,2}[\w=-]+|\s+\d+)*|less|more)`
const ending = new RegExp(String.raw`\s*(?:2>&1|>&2|2>\s*/dev/null|&>\s*/dev/null|>\s*/dev/null|${cut})\s*$`)

/** The command line without what only shortens its output at the end. */
const withoutCut = (text: string): string => {
  for (let left = text; ;) {
    const shorter = left.replace(ending, '')
    if (shorter === left) return left
    left = shorter
  }
}

const nameOf = (program = ''): string => program.slice(program.lastIndexOf('/') + 1)

/** The step as it runs once, where its program has an option to wait for changes. */
const onceOnly = (step: CommandStep): CommandStep => {
  const at =
    nameOf(step.argv[0]) === 'npx' ? step.argv.findIndex((word, place) => place > 0 && !word.startsWith('-')) : 0
  const program = nameOf(step.argv[at])
  const argv = step.argv.flatMap((word, place) => {
    if (place <= at) return [word]
    if (/^--watch(?:All)?(?:=true)?$/.test(word) || (word === '-w' && watchers.includes(program))) return []
    return [program === 'vitest' && place === at + 1 && (word === 'watch' || word === 'dev') ? 'run' : word]
  })
  return { ...step, argv }
}

/** As `planCommand`; a part in quotes is never cut, because what is left of it is no command. */
export const planCheck = (text: string): CommandPlan => {
  const plan = planCommand(text)
  if (text.length > 4_096) return plan
  if (plan.ok) return watches.test(text) ? { ...plan, steps: plan.steps.map(onceOnly) } : plan
  const shorter = withoutCut(text)
  const again = shorter === text ? plan : planCheck(shorter)
  return again.ok ? again : plan
}

/** Programs that are there without the packages of a project. */
const system = new Set(['node', 'npx', 'npm', 'pnpm', 'yarn', 'bun', 'deno', 'make'])

/** A package script that waits for changes, as a command that runs once; undefined = it ends by itself, or no such command is known. */
export const scriptOnce = (script: string): string | undefined => {
  const plan = watches.test(script) ? planCheck(script) : undefined
  if (plan?.ok !== true) return undefined
  const steps = plan.steps.map((step) => {
    const isOfProject = !system.has(step.argv[0] ?? '') && !(step.argv[0] ?? '').includes('/')
    return isOfProject ? { ...step, argv: ['npx', '--no-install', ...step.argv] } : step
  })
  const text = commandText(steps)
  return watches.test(text) ? undefined : text
}
