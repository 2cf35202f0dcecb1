/** The section of the configuration that says who decides whether finished work may land. */
import { z } from 'zod'
import { lineOfText, listOf, numberOfSeconds, oneOf, pathRule, textWithoutNul, wholeNumber } from './config-values.ts'
import { defaultJudgeRetries, judgeModes, risks } from '../domain/judgement.ts'

const ruleSchema = z.strictObject(
  {
    paths: listOf(pathRule, 'allowed: a list of paths or globs').min(1, {
      error: 'allowed: at least one path or glob',
    }),
    mode: oneOf(judgeModes),
  },
  { error: 'allowed: {"paths": ["<path or glob>"], "mode": "auto", "llm" or "human"}' },
)

export const judgeSection = z.strictObject({
  mode: oneOf(judgeModes).default('auto').meta({
    meaning:
      'Who decides whether finished work may land. `auto`: the gates alone (its checks, weakened tests, size). `llm`: a reviewer as well. `human`: you as well. Of this, the goal, the task and `judge.rules` the strictest counts.',
    environment: 'JUDGE_MODE',
  }),
  rules: listOf(ruleSchema, 'allowed: a list of rules').default([]).meta({
    meaning:
      'Stricter modes for work that changes certain paths, e.g. `[{"paths": ["src/auth/**"], "mode": "human"}]`.',
  }),
  harness: lineOfText('allowed: the name of a harness').exactOptional().meta({
    meaning:
      'Harness of the reviewer. Default: a configured harness other than that of the work; where there is none, or with `judge.model`, the same.',
  }),
  model: lineOfText('allowed: the name of a model').exactOptional().meta({
    meaning:
      'Model of the reviewer. Without `judge.harness`, the harness that did the work reviews it with this model.',
  }),
  timeoutSeconds: numberOfSeconds(1).default(300).meta({ meaning: 'Maximum time of one review.' }),
  maxRisk: oneOf(risks).default('medium').meta({
    meaning: 'A reviewer cannot approve work of a higher risk than this; you are asked instead.',
  }),
  requiredChecks: listOf(textWithoutNul, 'allowed: a list of commands or names of scripts').default([]).meta({
    meaning:
      'Checks without which no work is approved, as commands (`npm run lint`) or names of scripts (`lint`). You are asked about work for which one of them did not pass.',
  }),
  retries: wholeNumber(0, 100).default(defaultJudgeRetries).meta({
    meaning:
      'How often a reviewer that gave no valid answer is asked again before you are asked. Without an answer nothing is approved.',
    environment: 'JUDGE_DOOM_LOOP_CIRCUIT_BREAKER_RETRIES',
  }),
  retrySeconds: numberOfSeconds(0).default(120).meta({
    meaning: 'Wait before that.',
    environment: 'JUDGE_AWAITING_RETRY_COOLDOWN_MS',
  }),
})
