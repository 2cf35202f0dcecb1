/** How strictly finished work is judged: of all modes that apply to it the strictest. Pure. */
import { strictestMode, type JudgeMode } from '../../domain/judgement.ts'
import { isEvidence, type Run } from '../../domain/run.ts'
import { foldedMatcher, parsePathRule } from '../policy/path-rule.ts'

export interface JudgeRule {
  paths: readonly string[]
  mode: JudgeMode
}

/** A rule that cannot be read covers every path: otherwise work would land without the look that it asks for. */
const covers = ({ paths }: JudgeRule, changed: readonly string[]): boolean =>
  paths.some((text) => {
    const parsed = parsePathRule(text)
    return !parsed.ok || changed.some(foldedMatcher(parsed.rule))
  })

export interface ModeFacts {
  settings: { mode: JudgeMode; rules: readonly JudgeRule[] }
  goal: { judge: JudgeMode | null }
  task: { judge: JudgeMode | null }
  changedPaths: readonly string[]
}

export const judgeModeOf = ({ settings, goal, task, changedPaths }: ModeFacts): JudgeMode =>
  strictestMode([
    ...[settings.mode, goal.judge, task.judge],
    ...settings.rules.flatMap((rule) => (covers(rule, changedPaths) ? [rule.mode] : [])),
  ])

/** `lint` names the script that `npm run lint` runs; any other entry is a whole command. */
const isCheck = (required: string, command: string): boolean => {
  if (command.trim() === required.trim()) return true
  const [manager = '', ...rest] = command.trim().split(/\s+/)
  const [script, ...more] = rest[0] === 'run' ? rest.slice(1) : rest
  return ['npm', 'pnpm', 'yarn', 'bun'].includes(manager) && script === required.trim() && more.length === 0
}

/** The checks without which the work may not be approved, and that did not pass on it. */
export const missingChecks = ({ verdict }: Pick<Run, 'verdict'>, required: readonly string[]): string[] => {
  const passed = (verdict?.checks ?? []).filter((check) => isEvidence(check) && check.excused === undefined)
  return required.filter((entry) => !passed.some(({ command }) => isCheck(entry, command)))
}
