/** The name of the user at this command line, which is recorded in the events of their answers. */
import { userInfo } from 'node:os'

export const userName = (): string => {
  try {
    return userInfo().username
  } catch {
    return 'cli' // the user id has no name on this system
  }
}
