/** The lines of a Markdown text outside of fenced code. A fence that is never closed reaches to the end. */
export const plainLines = (text: string): { line: number; text: string }[] => {
  const found: { line: number; text: string }[] = []
  let fence = ''
  for (const [index, whole] of text.split(/\r?\n/).entries()) {
    const mark = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(whole)
    const [, ticks = '', rest = ''] = mark ?? []
    if (fence === '') {
      // A line such as ```a`b``` is code within a line, not a fence.
      if (ticks === '' || (ticks.startsWith('`') && rest.includes('`'))) found.push({ line: index + 1, text: whole })
      else fence = ticks
    } else if (ticks.startsWith(fence) && rest.trim() === '') fence = ''
  }
  return found
}
