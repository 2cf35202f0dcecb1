/** What an output stream can show, by the conventions of terminals: NO_COLOR, FORCE_COLOR, TERM and CI. */

type Environment = Record<string, string | undefined>

/** A terminal that can redraw lines in place; a pipe or a log cannot. */
export interface Terminal {
  columns(): number
  rows(): number
  write(text: string): void
  /** Calls `work` when the size changes. Returns a function that ends this. */
  onResize(work: () => void): () => void
}

const isSet = (value: string | undefined): boolean => value !== undefined && value !== ''

/** Whether to use colours: FORCE_COLOR decides if it is set (0 = off), then NO_COLOR, then whether the stream is a terminal with colours. */
export const coloursOf = (environment: Environment, isTerminal: boolean): boolean => {
  const forced = environment.FORCE_COLOR
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  return isTerminal && !isSet(environment.NO_COLOR) && environment.TERM !== 'dumb'
}

/** Whether to redraw in place: a dumb terminal cannot move its cursor, and the log of a CI job would keep every frame. */
export const canRedraw = (environment: Environment, isTerminal: boolean): boolean =>
  isTerminal &&
  environment.TERM !== 'dumb' &&
  (!isSet(environment.CI) || environment.CI === 'false' || environment.CI === '0')

export const terminalOf = (stream: NodeJS.WriteStream): Terminal => ({
  columns: () => stream.columns || 80,
  rows: () => stream.rows || 24,
  write: (text) => void stream.write(text),
  onResize: (work) => {
    stream.on('resize', work)
    return () => void stream.off('resize', work)
  },
})
