/** Refinements for a failed connection: to the outside, or to a service of the project. */
import type { RefinedLabel, MatchContext } from './match-context.ts'

const local = /localhost|127\.0\.0\.1|\[?::1\]?|0\.0\.0\.0|host\.docker\.internal/
const remote =
  /registry|proxy|https:\/\/|github\.com|gitlab|\bpypi\b|crates\.io|\bport 443\b|:443\b|mirror|repo\.maven/i

/** A refused local connection means that a service is down; a refused connection to the outside is a network problem. */
export const refused = ({ line, command }: MatchContext): RefinedLabel => {
  const installs = command.argvs.some(
    (argv) =>
      /^(?:install|ci|add|i|fetch|download|pull|push|clone|update|upgrade)$/.test(argv[1] ?? '') ||
      /^(?:install|download)$/.test(argv[2] ?? ''),
  )
  const fetches =
    command.programs.some((name) =>
      /^(?:npm|pnpm|yarn|bun|pip|cargo|go|git|gem|bundle|composer|poetry|uv|mvn|gradle|gradlew|apt-get|apt)$/.test(
        name,
      ),
    ) && installs
  if (/proxy/i.test(line.text) || fetches) return { label: 'network_unreachable' }
  return { label: remote.test(line.text) && !local.test(line.text) ? 'network_unreachable' : 'service_unavailable' }
}

const installers =
  /^(?:npm|pnpm|yarn|bun|pip|cargo|go|gem|bundle|composer|poetry|uv|mvn|gradle|docker|git|curl|wget|apt-get|helm|terraform)$/

/** 5xx, 429 and refusals count only if the command itself talks to a registry or a forge. */
export const installing = (scene: MatchContext): RefinedLabel | undefined =>
  scene.command.programs.some((name) => installers.test(name)) ||
  remote.test(scene.line.text) ||
  /GET http/.test(scene.line.text)
    ? { label: scene.label }
    : undefined

export const httpHost = ({ command }: MatchContext): RefinedLabel => ({
  label: local.test(command.text) ? 'service_unavailable' : 'network_transient',
})
