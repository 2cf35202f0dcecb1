/** The size of a run's change, and the limits above which a person is asked once. Pure. */

export interface ChangeSize {
  /** Both sides of a rename count. */
  files: number
  /** Added and removed together. Binary files, lockfiles and generated files count as no line. */
  lines: number
  /** The paths with the most lines, the largest first; at most five. */
  largest: { path: string; lines: number }[]
}

export interface ChangeLimits {
  /** -1 = no limit. */
  maxFiles: number
  maxLines: number
}

/** A change above a limit, as it is stored with the verdict: the limits may be others when it is looked at. */
export interface Oversized extends ChangeSize {
  limits: { setting: `change.${keyof ChangeLimits}`; limit: number }[]
}

export const oversized = (size: ChangeSize, { maxFiles, maxLines }: ChangeLimits): Oversized | undefined => {
  const limits: Oversized['limits'] = []
  if (maxFiles !== -1 && size.files > maxFiles) limits.push({ setting: 'change.maxFiles', limit: maxFiles })
  if (maxLines !== -1 && size.lines > maxLines) limits.push({ setting: 'change.maxLines', limit: maxLines })
  return limits.length === 0 ? undefined : { ...size, limits }
}

const counted = (value: number): string => value.toLocaleString('en-US')

/** For example: "612 files and 40,000 lines, more than change.maxFiles (500) allows". */
export const oversizedText = ({ files, lines, limits }: Oversized): string =>
  `${counted(files)} files and ${counted(lines)} lines, more than ${limits
    .map(({ setting, limit }) => `${setting} (${counted(limit)})`)
    .join(' and ')} ${limits.length > 1 ? 'allow' : 'allows'}`
