/** Looks up in the base commit what a command that a model named needs there. */
import { join } from 'node:path'
import { isRealCheck } from '../../recovery/command/replacement.ts'
import type { RequiredInBase } from '../../recovery/command/suggested.ts'
import type { RunContext } from '../core/run-context.ts'
import { hasRule, makefiles } from './check-facts.ts'
import { manifestScripts } from './manifest-scripts.ts'

/**
 * What the suggestion needs and the base commit lacks; undefined = nothing. A command whose program or script the
 * agent wrote itself would prove nothing.
 */
export const lackOf = async (runContext: RunContext, need: RequiredInBase): Promise<string | undefined> => {
  const at = (path: string): Promise<string | undefined> =>
    runContext.context.ports.git.textAt(runContext.context.shadow, runContext.run.baseCommit ?? '', path)
  if (need.kind === 'file') return (await at(need.path)) === undefined ? `no file ${need.path}` : undefined
  if (need.kind === 'script')
    return isRealCheck(manifestScripts(await at(need.manifest))[need.name])
      ? undefined
      : `no script "${need.name}" that judges`
  for (const name of need.file === undefined ? makefiles : [need.file]) {
    const text = await at(join(need.folder, name))
    if (text === undefined) continue
    const missing = need.targets.find((target) => !hasRule(text, target))
    return missing === undefined ? undefined : `no make target "${missing}"`
  }
  return 'no makefile'
}
