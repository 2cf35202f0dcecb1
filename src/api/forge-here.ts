/** The forge and the source of issues that the configuration names, with its repository and token found anew each time: both may change while the engine runs. */
import type { Config } from '../config/config.ts'
import { AppError } from '../errors.ts'
import { commandIssues } from '../forge/command-issues.ts'
import { repositoryNameIn, type Forge, type IssueSource } from '../forge/forge.ts'
import { forgeToken } from '../forge/forge-token.ts'
import { createGitHub } from '../forge/github.ts'
import { rememberAnswers, type RememberedAnswers } from '../forge/remembered-answers.ts'
import { originUrl } from '../workspace/origin.ts'
import type { Repository } from '../workspace/repository-types.ts'
import { runIssueCommand } from './run-issue-command.ts'

interface Place {
  repository: Repository
  environment: Record<string, string | undefined>
  config: () => Config
}

const nameOf = async ({ repository }: Place, { repository: given }: Config['forge']): Promise<string> => {
  if (given !== undefined) return given
  const url = repository.url ?? (await originUrl(repository))
  const name = url === null ? undefined : repositoryNameIn(url)
  if (name !== undefined) return name
  throw new AppError(
    'CONFIG_INVALID',
    'forge.repository: the remote "origin" names no repository of a forge; set it to "owner/name"',
  )
}

/** The host for which `gh` has a login. */
const hostOf = (apiUrl: string): string => new URL(apiUrl).hostname.replace(/^api\./, '')

const forgeOf = async (place: Place, answers: RememberedAnswers): Promise<Forge | undefined> => {
  const { forge } = place.config()
  if (forge.kind === 'off') return undefined
  const repository = await nameOf(place, forge)
  const token = await forgeToken(place.environment, hostOf(forge.apiUrl))
  if (token === undefined)
    throw new AppError('REMOTE_REFUSED', 'there is no token for GitHub: set GH_TOKEN, or run "gh auth login"')
  return createGitHub({ apiUrl: forge.apiUrl, repository, token, answers })
}

/** The functions of a context. What a forge answered is remembered between them. */
export const forgeHere = (
  place: Place,
): { forge: () => Promise<Forge | undefined>; issues: () => Promise<IssueSource | undefined> } => {
  const answers = rememberAnswers()
  const forge = (): Promise<Forge | undefined> => forgeOf(place, answers)
  return {
    forge,
    issues: async () => {
      const { command } = place.config().forge
      if (command === undefined) return forge()
      const at = { cwd: place.repository.root, environment: place.environment }
      return commandIssues((args) => runIssueCommand(command, args, at))
    },
  }
}
