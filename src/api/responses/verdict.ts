/** The schema of a run's verdict. */
import { z } from 'zod'
import { proofKinds } from '../../domain/proof.ts'
import { count, names, text } from './parts.ts'

const checkSource = z.enum(['task', 'config', 'inferred', 'contract'])

export const outcome = z.enum(['verified', 'nothing to verify', 'not verified'])
export const stillFailing = z.array(z.strictObject({ command: text, failing: names }))

export const verdict = z.strictObject({
  outcome,
  checks: z.array(
    z.strictObject({
      command: text,
      source: checkSource,
      exitCode: z.number().nullable(),
      signal: text.nullable(),
      timedOut: z.boolean(),
      durationMs: z.number(),
      ranNothing: text.exactOptional(),
      excused: z
        .strictObject({
          because: z.enum(['flaky', 'fails on the base commit']),
          failing: names,
          proves: z.boolean(),
        })
        .exactOptional(),
      baseline: text.exactOptional(),
      tests: z.strictObject({ ran: count, skipped: count, failed: count.exactOptional() }).exactOptional(),
    }),
  ),
  dropped: z.array(z.strictObject({ command: text, reason: text, by: text.exactOptional() })),
  changedPaths: names,
  notes: names,
  tree: text.exactOptional(),
  noChange: z.literal(true).exactOptional(),
  givenBack: z.literal(true).exactOptional(),
  order: names.exactOptional(),
  excluded: z
    .array(z.strictObject({ path: text, because: text, unproven: z.literal(true).exactOptional() }))
    .exactOptional(),
  refused: names.exactOptional(),
  proof: z
    .strictObject({
      kind: z.enum(proofKinds),
      fact: text,
      tests: names,
      files: names,
      reported: z.literal(true).exactOptional(),
      runs: count.exactOptional(),
      ms: z.number().exactOptional(),
    })
    .exactOptional(),
  installed: z
    .array(
      z.strictObject({
        ...{ manager: text, folder: text, commands: z.array(names) },
        ...{ inputs: text.exactOptional(), files: names.exactOptional() },
      }),
    )
    .exactOptional(),
  oversized: z
    .strictObject({
      files: count,
      lines: count,
      largest: z.array(z.strictObject({ path: text, lines: count })),
      limits: z.array(z.strictObject({ setting: z.enum(['change.maxFiles', 'change.maxLines']), limit: count })),
    })
    .exactOptional(),
  weakened: z
    .array(
      z.strictObject({
        kind: z.enum([
          'file deleted',
          'test removed',
          'test skipped',
          'test focused',
          'assertion removed',
          'assertion loosened',
          'snapshot changed',
          'test renamed',
          'check redefined',
          'configuration changed',
          'threshold lowered',
        ]),
        path: text,
        count,
        detail: text,
        beyondProof: z.literal(true).exactOptional(),
      }),
    )
    .exactOptional(),
})
