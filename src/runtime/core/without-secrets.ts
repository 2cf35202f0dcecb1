/**
 * Texts that leave the store for a place that is read by others: a commit, or a task of its own. A person, an agent or a check wrote
 * them, so they may hold a secret.
 */
import type { Context } from './context.ts'

export const withoutSecrets = ({ ports, environment }: Pick<Context, 'ports' | 'environment'>, text: string): string =>
  ports.processes.redactText(text, environment)
