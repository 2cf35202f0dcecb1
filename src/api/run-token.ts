/**
 * The token of one run, with which its agent may use the tools of that run and nothing else. It is computed from a key of the state
 * folder, so it is stored nowhere; its run id and epoch are part of it, so the token of another run or attempt does not fit.
 */
import { createHmac } from 'node:crypto'
import { sameSecret } from './same-secret.ts'
import { readSecret } from './state-dir.ts'

export interface RunTokens {
  issue(run: { id: string; epoch: number }): string
  /** The run for which a token was issued; undefined = no token of a run, or a forged one. */
  runOf(token: string): { id: string; epoch: number } | undefined
}

const prefix = 'unstuck-run'
const form = new RegExp(`^${prefix}\\.([\\w-]{1,100})\\.(\\d{1,9})\\.([\\w-]{43})$`)

export const openRunTokens = (stateDir: string): RunTokens => {
  const key = Buffer.from(readSecret(stateDir, 'run-key'), 'base64url')
  const macOf = (id: string, epoch: string): string =>
    createHmac('sha256', key).update(`run ${id} ${epoch}`).digest('base64url')
  return {
    issue: ({ id, epoch }) => [prefix, id, epoch, macOf(id, String(epoch))].join('.'),
    runOf: (token) => {
      const [, id = '', epoch = '', mac = ''] = form.exec(token) ?? []
      return sameSecret(mac, macOf(id, epoch)) ? { id, epoch: Number(epoch) } : undefined
    },
  }
}

/** Whether a secret has the form of a run's token, for the message that refuses it. */
export const isRunToken = (secret: string): boolean => secret.startsWith(`${prefix}.`)
