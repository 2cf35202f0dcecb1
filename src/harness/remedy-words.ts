/** What the drivers share when they tell a person how to allow a refused call. */
import { dirname } from 'node:path'
import { shellQuoted } from '../recovery/command/replacement.ts'
import type { ObservedDenial } from '../recovery/evidence.ts'

/** A refusal, as far as a remedy depends on it. */
export type Refused = Pick<ObservedDenial, 'kind' | 'tool' | 'text'> &
  Partial<Pick<ObservedDenial, 'target' | 'directory'>>

export const doubleQuoted = (text: string): string => (/["$`\\!]/.test(text) ? shellQuoted(text) : `"${text}"`)

/** The folder to allow: the existing one, else the parent of the refused path. */
export const folderInWords = ({ directory, target }: Refused): string =>
  directory ?? (target === undefined ? '<dir>' : dirname(target))

export const orAllowDir = (option: string, refused: Refused): string =>
  `add ${option} to the agent's command, or run unstuck exec --allow-dir ${shellQuoted(folderInWords(refused))} -- …`
