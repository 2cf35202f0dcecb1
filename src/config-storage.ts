/** The section of the configuration for the disk space that Unstuck uses. */
import { z } from 'zod'

const error = 'allowed: a number of gigabytes above 0, or -1 for no limit'

export const storageSection = {
  maxGb: z
    .number({ error })
    .refine((value) => value === -1 || value > 0, { error })
    .default(20)
    .meta({
      meaning:
        'Disk space that the state folder of the repository may use (GB). Above it, and while the disk has less than twice `admission.minFreeDiskMb` free, what no run needs goes, the longest unused first. -1 = no limit.',
    }),
}
