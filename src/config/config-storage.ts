/** The sections of the configuration for what of the machine Unstuck leaves free, and for the disk space that it uses. */
import { z } from 'zod'
import { wholeNumber } from './config-values.ts'

export const admissionSection = {
  minFreeDiskMb: wholeNumber(0, 100_000_000)
    .default(1024)
    .meta({ meaning: 'No new run starts while the disk of the state folder has less free space than this (MB).' }),
  minFreeMemoryMb: wholeNumber(0, 100_000_000)
    .default(256)
    .meta({ meaning: 'No new run starts while less memory than this is available (MB).' }),
  maxLoadPerCore: z
    .number({ error: 'allowed: a number above 0, or -1 for no limit' })
    .refine((value) => value === -1 || value > 0, { error: 'allowed: a number above 0, or -1 for no limit' })
    .default(-1)
    .meta({ meaning: 'No new run starts while the load of the last minute per core is above this; -1 = no limit.' }),
}

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
