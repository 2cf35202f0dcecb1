import type { LaunchRequest } from './driver.ts'

/**
 * The prompt as one command-line argument that no CLI mistakes for an option or a subcommand. A newline in front of it means nothing
 * to the model, but keeps the argument from starting with `-` or the name of a subcommand.
 */
export const promptArgument = (prompt: string): string => {
  // spawn throws on a NUL character.
  const text = prompt.replaceAll('\0', '\u{fffd}')
  return /^-|^\S*$/.test(text) ? `\n${text}` : text
}

/**
 * Directories that the launch opens: the allowed ones, and the run's own folder when it is outside the workspace. Empty when the CLI
 * cannot open single directories.
 */
export const openedDirs = (request: Pick<LaunchRequest, 'can' | 'addDirs' | 'runDir' | 'workspace'>): string[] => {
  if (!request.can.directories) return []
  const inside = request.runDir === request.workspace || request.runDir.startsWith(`${request.workspace}/`)
  const dirs = inside ? request.addDirs : [...request.addDirs, request.runDir]
  return [...new Set(dirs)]
}
