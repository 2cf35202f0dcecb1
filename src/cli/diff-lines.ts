/** A run's change as lines for a terminal. An agent wrote it, so every character that could act on the terminal is spelled out. */
import type { DiffView } from '../api/contract.ts'
import type { Paint } from './render.ts'

const spelled = (char: string): string =>
  `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`

/** Shown and not removed: a mark that turns the direction of text changes what a reviewer sees of the code. */
export const spelledOut = (text: string): string =>
  text.replace(/\r$/, '').replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) => (char === '\t' ? char : spelled(char)))

const sources: Record<DiffView['source'], string> = {
  commit: 'committed',
  workspace: 'in its workspace now',
  collected: 'as it was collected',
  snapshot: 'from its last snapshot',
  none: '',
}

const mostNamed = 20

const named = (paths: readonly string[]): string => {
  const more = paths.length - mostNamed
  return `${paths.slice(0, mostNamed).map(spelledOut).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** A header of a file begins outside of every hunk; within one, `---` is a removed line that began with `--`. */
const painter = (paint: Paint): ((text: string) => string) => {
  let inHunk = false
  return (text) => {
    if (text.startsWith('diff --git ')) inHunk = false
    else if (text.startsWith('@@ ')) inHunk = true
    const shown = spelledOut(text)
    if (text.startsWith('@@ ')) return paint.dim(shown)
    if (!inHunk) return paint.bold(shown)
    if (text.startsWith('+')) return paint.good(shown)
    return text.startsWith('-') ? paint.bad(shown) : shown
  }
}

export const diffLines = (paint: Paint, view: DiffView): string[] => {
  if (view.fileCount === 0) return [paint.dim(`Run ${view.run} changed no file.`)]
  const files = `${view.fileCount} ${view.fileCount === 1 ? 'file' : 'files'}`
  return [
    paint.dim(`Run ${view.run} changed ${files}, ${sources[view.source]}.`),
    ...view.diff.replace(/\n$/, '').split('\n').map(painter(paint)),
    ...(view.cut ? [paint.warn('The rest is not shown: the text is longer than 1 MiB.')] : []),
    ...(view.leftOut.length === 0
      ? []
      : [paint.warn(`Not shown, because they are too large or too many: ${named(view.leftOut)}`)]),
  ]
}
