/** What only the place of a run can tell about a proposal that has the right form: the same for the file and for the tool. */
import { resolve } from 'node:path'
import { findSecrets } from '../../recovery/policy/secret-text.ts'
import { assignedSecretIn } from '../../recovery/proposal/assigned-secret.ts'
import { proposedCommandOf, proposalSteps, type Proposal, type ReadProposal } from '../../recovery/proposal/proposal.ts'
import { commandDirectory } from '../checks/check-facts.ts'
import type { Context } from '../core/context.ts'
import { isInside } from './observe-denial.ts'

/** The rule that finds a secret in the text, also a value of the environment. */
export const secretIn = async (
  { ports, environment }: Pick<Context, 'ports' | 'environment'>,
  text: string,
): Promise<string | undefined> => {
  const [found] = await findSecrets(text)
  if (found !== undefined) return found.rule
  const assigned = assignedSecretIn(text)
  if (assigned !== undefined) return `a value of ${assigned}`
  return ports.processes.redactText(text, environment) === text ? undefined : 'a value of the environment'
}

type Refused = Extract<ReadProposal, { ok: false }>

const refused = (field: string, problem: string): Refused => ({
  ok: false,
  field,
  problem: `recovery.json: ${field}${problem}`,
})

/** Undefined = both of its commands may be decided about. `tree`: where they would run. */
export const problemOfProposal = async (
  context: Context,
  proposal: Proposal,
  tree: string,
): Promise<Refused | undefined> => {
  for (const step of proposalSteps) {
    const proposed = proposedCommandOf(proposal, step)
    if (proposed === undefined) continue
    const section = step === 'primary' ? 'recovery' : 'fallback'
    const secret = await secretIn(context, proposed.command)
    if (secret !== undefined)
      return refused(
        `${section}.command`,
        ` contains a secret (${secret}); allowed: a command that reads it from a variable of the environment`,
      )
    const place = commandDirectory(context.ports.files, tree, [proposed.workingDir])
    if (!place.ok)
      return refused(`${section}.working_dir`, `: ${place.reason}; allowed: a folder inside the repository`)
  }
  return undefined
}

/** Evidence that names a file and line in none of the places, or outside of them. Other evidence is text of its own. */
export const evidenceNotes = (
  { ports: { files } }: Context,
  evidence: readonly string[],
  places: readonly string[],
): string[] =>
  evidence.flatMap((entry) => {
    const [, path] = /^([^\s:"'`]*[^\s:"'`/]):\d+(?::|\s|$)/.exec(entry) ?? []
    if (path === undefined || !/[./]/.test(path)) return []
    const inside = places
      .map((place) => ({ place, full: resolve(place, path) }))
      .filter(({ place, full }) => isInside(full, place))
    if (inside.length === 0) return [`its evidence ${path} lies outside of the repository`]
    return inside.some(({ full }) => files.existsSync(full)) ? [] : [`its evidence ${path} does not exist`]
  })
