/**
 * The token of one run, with which its agent may use the tools of that run and nothing else. It is computed from a key of the state
 * folder, so it is stored nowhere; its run id and epoch are part of it, so the token of another run or attempt does not fit.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface RunTokens {
  issue(run: { id: string; epoch: number }): string
  /** The run for which a token was issued; undefined = no token of a run, or a forged one. */
  runOf(token: string): { id: string; epoch: number } | undefined
}

const prefix = 'unstuck-run'
const form = new RegExp(`^${prefix}\\.([\\w-]{1,100})\\.(\\d{1,9})\\.([\\w-]{43})$`)

/** Created on the first start, by a rename: after a crash an empty key would be one that everybody knows. */
const readKey = (stateDir: string): Buffer => {
  const path = join(stateDir, 'run-key')
  if (!existsSync(path)) {
    writeFileSync(`${path}.new`, randomBytes(32).toString('base64url'), { mode: 0o600 })
    renameSync(`${path}.new`, path)
  }
  return Buffer.from(readFileSync(path, 'utf8').trim(), 'base64url')
}

export const openRunTokens = (stateDir: string): RunTokens => {
  const key = readKey(stateDir)
  const macOf = (id: string, epoch: string): Buffer => createHmac('sha256', key).update(`run ${id} ${epoch}`).digest()
  return {
    issue: ({ id, epoch }) => [prefix, id, epoch, macOf(id, String(epoch)).toString('base64url')].join('.'),
    runOf: (token) => {
      const [, id = '', epoch = '', mac = ''] = form.exec(token) ?? []
      const given = Buffer.from(mac, 'base64url')
      return given.length === 32 && timingSafeEqual(given, macOf(id, epoch)) ? { id, epoch: Number(epoch) } : undefined
    },
  }
}

/** Whether a secret has the form of a run's token, for the message that refuses it. */
export const isRunToken = (secret: string): boolean => secret.startsWith(`${prefix}.`)
