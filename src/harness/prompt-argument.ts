import type { LaunchRequest } from './driver.ts'

/**
 * A prompt as one command-line argument that no CLI takes for an option or a subcommand. The words stay as they are; a
 * newline before them is nothing to the model, but makes the argument start with neither `-` nor a command's name.
 */
export const promptArgument = (prompt: string): string => {
  // A NUL cannot be passed to a program at all; spawn would throw.
  const text = prompt.replaceAll('\0', '\u{fffd}')
  return /^-|^\S*$/.test(text) ? `\n${text}` : text
}

/**
 * Directories the launch must open: the allowed ones, and the run's own folder when it is outside the workspace. None where
 * the CLI cannot open them one by one.
 */
export const openedDirs = (request: Pick<LaunchRequest, 'can' | 'addDirs' | 'runDir' | 'workspace'>): string[] => {
  if (!request.can.directories) return []
  const inside = request.runDir === request.workspace || request.runDir.startsWith(`${request.workspace}/`)
  const dirs = inside ? request.addDirs : [...request.addDirs, request.runDir]
  return [...new Set(dirs)]
}
