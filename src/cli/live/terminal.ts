/** What the stream that is written to can show, by the conventions that terminals and CLIs share. */

type Environment = Record<string, string | undefined>

/** A terminal whose block of lines is redrawn in place; lines of a pipe or a log cannot be. */
export interface Terminal {
  columns(): number
  rows(): number
  write(text: string): void
  /** Calls `work` when the size changes, until the function that is given back is called. */
  onResize(work: () => void): () => void
}

const isSet = (value: string | undefined): boolean => value !== undefined && value !== ''

/** FORCE_COLOR decides where it is set (0 = off), then NO_COLOR, then whether the stream is a terminal that has colours. */
export const coloursOf = (environment: Environment, isTerminal: boolean): boolean => {
  const forced = environment.FORCE_COLOR
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  return isTerminal && !isSet(environment.NO_COLOR) && environment.TERM !== 'dumb'
}

/** A dumb terminal cannot move its cursor, and the log of a CI job keeps every frame. */
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
