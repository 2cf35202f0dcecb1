/** Lines that show the changes of a run on a terminal. Agents wrote them, so control characters are spelled out. */
import type { DiffView } from '../api/contract.ts'
import { visibleText } from '../visible-text.ts'
import type { Paint } from './render.ts'

const sources: Record<DiffView['source'], string> = {
  commit: 'committed',
  workspace: 'in its workspace, not committed',
  collected: 'as collected at its end',
  snapshot: 'kept in its last snapshot',
  none: '',
}

const mostNamed = 20

const named = (paths: readonly string[]): string => {
  const more = paths.length - mostNamed
  return `${paths.slice(0, mostNamed).map(visibleText).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Tracks hunks: outside a hunk `---` starts a file header, inside it is a removed line that began with `--`. */
const painter = (paint: Paint): ((text: string) => string) => {
  let inHunk = false
  return (text) => {
    if (text.startsWith('diff --git ')) inHunk = false
    else if (text.startsWith('@@ ')) inHunk = true
    const shown = visibleText(text)
    if (text.startsWith('@@ ')) return paint.dim(shown)
    if (!inHunk) return paint.bold(shown)
    if (text.startsWith('+')) return paint.good(shown)
    return text.startsWith('-') ? paint.bad(shown) : shown
  }
}

export const diffLines = (paint: Paint, view: DiffView): string[] => {
  if (view.fileCount === 0) return [paint.dim(`Run ${view.run} changed no files.`)]
  const files = `${view.fileCount} ${view.fileCount === 1 ? 'file' : 'files'}`
  const commit = view.commit === null ? '' : ` as ${view.commit.slice(0, 12)}`
  return [
    paint.dim(`Run ${view.run} changed ${files}, ${sources[view.source]}${commit}.`),
    ...view.diff.replace(/\n$/, '').split('\n').map(painter(paint)),
    ...(view.cut ? [paint.warn('The rest is not shown, because the diff is larger than 1 MiB.')] : []),
    ...(view.leftOut.length === 0
      ? []
      : [paint.warn(`Files not shown, because they are too large or too many: ${named(view.leftOut)}`)]),
    ...view.decisions.map(({ label, command }) => `${label}: ${command}`),
  ]
}
