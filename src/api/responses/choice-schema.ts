/** The schema of a choice of a question, with the data of each kind. */
import { z } from 'zod'
import { id, names, text } from './parts.ts'

const choiceFields = {
  id: text,
  label: text,
  effect: text,
  command: text,
  input: z
    .strictObject({
      name: z.enum(['hint', 'check', 'paths', 'model', 'text', 'command', 'note']),
      ...{ label: text, required: z.boolean(), suggested: text.nullable() },
    })
    .nullable(),
}

export const choiceSchema = z.discriminatedUnion('kind', [
  z.strictObject({ ...choiceFields, kind: z.literal('widen'), paths: names, task: id('t').exactOptional() }),
  z.strictObject({ ...choiceFields, kind: z.literal('leave_out'), paths: names, task: id('t') }),
  z.strictObject({ ...choiceFields, kind: z.literal('edit'), task: id('t') }),
  z.strictObject({ ...choiceFields, kind: z.literal('allow_command'), harness: text, rule: text }),
  z.strictObject({ ...choiceFields, kind: z.literal('allow_directory'), directory: text }),
  z.strictObject({ ...choiceFields, kind: z.literal('change_check'), check: text, source: text }),
  z.strictObject({ ...choiceFields, kind: z.literal('copy_files'), paths: names }),
  z.strictObject({ ...choiceFields, kind: z.literal('run_filters'), filters: names }),
  z.strictObject({ ...choiceFields, kind: z.literal('commit_fix') }),
  z.strictObject({
    ...choiceFields,
    kind: z.enum(['approve_recovery', 'approve_always', 'edit_recovery', 'reject_recovery', 'resolve_recovery']),
    proposal: text,
  }),
  z.strictObject({ ...choiceFields, kind: z.literal('hint'), task: id('t').exactOptional() }),
  z.strictObject({ ...choiceFields, kind: z.literal('reply') }),
  z.strictObject({ ...choiceFields, kind: z.literal('take_over'), runId: id('r') }),
  z.strictObject({ ...choiceFields, kind: z.literal('keep') }),
  z.strictObject({
    ...choiceFields,
    kind: z.literal('restore'),
    place: z.strictObject({ host: text, root: text }),
    changes: z.array(
      z.strictObject({
        part: z.enum(['ref', 'config', 'hook', 'index', 'file']),
        ...{ name: text, before: text.nullable(), after: text.nullable(), alike: z.boolean().exactOptional() },
      }),
    ),
  }),
  z.strictObject({
    ...choiceFields,
    kind: z.enum(['approve', 'reject', 'ask_again', 'restart', 'plan_again', 'land', 'land_unsigned']),
  }),
  z.strictObject({ ...choiceFields, kind: z.literal('retry') }),
  z.strictObject({ ...choiceFields, kind: z.literal('resume') }),
  z.strictObject({ ...choiceFields, kind: z.literal('cancel') }),
])
