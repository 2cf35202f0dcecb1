/** Who sits at this command line: it stands in the events of what they decide. */
import { userInfo } from 'node:os'

export const userName = (): string => {
  try {
    return userInfo().username
  } catch {
    return 'cli' // a user id without a name
  }
}
