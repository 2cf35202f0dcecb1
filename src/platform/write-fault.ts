/** What the system says about a place that cannot be written, with what to do. */
const remedies: Record<string, string> = {
  ENOSPC: 'the disk is full; free some space on it, then try again',
  EDQUOT: 'the quota of this user is used up; free some space, then try again',
  EROFS: 'the file system is read-only; set UNSTUCK_HOME to a folder that can be written',
  EACCES: 'this user may not write there; set UNSTUCK_HOME to a folder of its own',
}

/** By the system's name, or by PostgreSQL's. The system says the same of too many watched folders, which is no matter of the disk. */
export const isFullDisk = (error: unknown): boolean => {
  const { code, syscall } = error as NodeJS.ErrnoException
  return ['ENOSPC', 'EDQUOT', '53100'].includes(String(code)) && syscall !== 'watch'
}

/** Undefined = the error is about something else. */
export const writeRemedy = (error: unknown): string | undefined =>
  remedies[String((error as NodeJS.ErrnoException).code)]
