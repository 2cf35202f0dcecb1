/** The section of the configuration for tasks of kind `loop`. */
import { z } from 'zod'
import { lineOfText, listOf, pathRule, thresholdOrOff, wholeNumber } from './config-values.ts'
import { loopRoles, type LoopRole } from '../domain/loop.ts'

const roleSchema = z.strictObject({
  harness: lineOfText('allowed: the name of a harness').exactOptional(),
  model: lineOfText('allowed: the name of a model').exactOptional(),
})

type RoleSettings = z.output<typeof roleSchema>

const promiseError = 'allowed: a text without < and >, white space at neither end, at most 200 characters'

export const loopSection = z.strictObject({
  completion_promise: lineOfText(promiseError)
    .refine((value) => value.trim() === value && !/[<>]/.test(value) && value.length <= 200, { error: promiseError })
    .default('LOOP_COMPLETE')
    .meta({
      meaning:
        'The exact text that the reviewer gives, inside of <promise>…</promise>, when nothing is left to do. Nothing else ends a loop as complete.',
    }),
  max_iterations: wholeNumber(1, 10_000)
    .default(20)
    .meta({ meaning: 'You are asked once after this many iterations; a retry begins a new count.' }),
  stuck_threshold: thresholdOrOff(2, 1000).default(3).meta({
    meaning:
      'You are asked once after this many iterations in a row that ended in the same way: with the same failing tests, or with the same files and the same open gates. -1 = never.',
  }),
  plan_files: listOf(pathRule, 'allowed: a list of paths or globs').default([]).meta({
    meaning:
      'Files of the repository that are part of the plan: the planner may change them, and a loop does not end while one of them has an unticked box. The plan in $UNSTUCK_RUN_DIR needs no entry.',
  }),
  roles: z
    .partialRecord(z.enum(loopRoles), roleSchema)
    .default({})
    .transform((roles): Partial<Record<LoopRole, RoleSettings>> => roles)
    .meta({
      meaning:
        'Harness and model of single roles, e.g. `{"reviewer": {"harness": "<name>", "model": "…"}}`. Roles: `planner`, `worker`, `tester`, `reviewer`. Default: those of the task.',
    }),
})
