/** The section of the configuration about the forge, where issues come from and pull requests go to. */
import { z } from 'zod'
import { isRepositoryName } from '../forge/forge.ts'
import { lineOfText, listOf, oneCommand, oneOf, wholeNumber } from './config-values.ts'

const apiUrlError = 'allowed: an https address such as "https://api.github.com" (http on this machine only)'

/** The token goes there, so not over a network in plain text. */
const isApiUrl = (text: string): boolean => {
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return false
  return (
    url.protocol === 'https:' ||
    (url.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname))
  )
}

export const forgeSection = z.strictObject({
  kind: oneOf(['off', 'github']).default('off').meta({
    meaning:
      'The forge of this repository. `github`: issues become goals, and finished goals become pull requests. The token is `GH_TOKEN` or `GITHUB_TOKEN` of the engine, else that of the `gh` login. `off`: no forge is asked.',
  }),
  repository: z
    .string({ error: 'allowed: "owner/name"' })
    .refine(isRepositoryName, { error: 'allowed: "owner/name"' })
    .exactOptional()
    .meta({ meaning: 'Its name there, as `owner/name`. Default: as in the URL of the remote `origin`.' }),
  apiUrl: z
    .string({ error: apiUrlError })
    .refine(isApiUrl, { error: apiUrlError })
    .default('https://api.github.com')
    .meta({ meaning: 'Address of its API, of GitHub Enterprise for example.' }),
  command: oneCommand.exactOptional().meta({
    meaning:
      'A program that prints the issues to work on, one JSON object a line (`{"id", "title", "body", "url", "labels", "dependsOn"}`), in place of those of the forge. It is started in the repository without a shell, with `issues` as its last argument; with `status` and a JSON object, where `forge.comments` is set. It gets the variables of the engine, and a minute.',
  }),
  label: z.string({ error: 'allowed: the name of a label, or "" for all issues' }).default('unstuck').meta({
    meaning:
      'Issues with this label become goals when no older work is left. `""`: all issues that name a role (a label `role:worker`, or a line `Role: worker`).',
  }),
  authors: listOf(lineOfText('allowed: the login of a user'), 'allowed: a list of logins').default([]).meta({
    meaning: 'Whose issues become goals, besides those of owners, members and collaborators of the repository.',
  }),
  pullRequests: oneOf(['off', 'goal']).default('off').meta({
    meaning:
      '`goal`: the branch of a finished goal is pushed to `origin` and becomes a pull request; the goal is done when that is merged. `off`: goals land as they do without a forge.',
  }),
  comments: oneOf(['off', 'goal']).default('off').meta({
    meaning:
      '`goal`: each goal that came from an issue has one comment there, which is kept up to date with its tasks, its questions and its pull request. `off`: nothing is written under issues.',
  }),
  pollSeconds: wholeNumber(5, 86_400).default(60).meta({ meaning: 'How often the forge is asked for news.' }),
})
