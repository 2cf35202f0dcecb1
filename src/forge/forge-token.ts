/** The token for a forge: of the environment, else of the `gh` login of this user. It is never stored, logged or given to an agent. */
import { execa } from 'execa'

const ghTimeoutMs = 10_000

/** Undefined = there is none. */
export const forgeToken = async (
  environment: Record<string, string | undefined>,
  host: string,
): Promise<string | undefined> => {
  const given = environment.GH_TOKEN || environment.GITHUB_TOKEN
  if (given !== undefined && given !== '') return given
  const { exitCode, stdout } = await execa('gh', ['auth', 'token', '--hostname', host], {
    ...{ env: environment, extendEnv: false, reject: false, timeout: ghTimeoutMs, stdin: 'ignore' },
  })
  const token = stdout.trim()
  return exitCode === 0 && token !== '' ? token : undefined
}
