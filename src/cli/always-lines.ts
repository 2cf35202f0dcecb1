/** What "approve always" would write into the configuration, as text for people. */
import type { AlwaysChangeView } from '../api/contract.ts'
import { safe, type Paint } from './render.ts'

const painted = (paint: Paint, text: string): string => {
  if (text.startsWith('+')) return paint.good(safe(text))
  return text.startsWith('-') ? paint.bad(safe(text)) : safe(text)
}

export const alwaysLines = (paint: Paint, { path, diff, command }: AlwaysChangeView): string[] =>
  diff === ''
    ? [`${safe(path)} lists \`${safe(command)}\` already.`]
    : [
        safe(path),
        ...diff
          .trimEnd()
          .split('\n')
          .map((text) => painted(paint, text)),
      ]
