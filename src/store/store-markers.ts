/** Files of the state folder that are written when a store was opened, so each is a proof that there was one. They import nothing that is slow to load. */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** The store is on the user's own server. */
export const embeddedMarkerPath = (stateDir: string): string => join(stateDir, 'store.complete')

/** The store is on another server; the file contains no URL. */
export const postgresMarkerPath = (stateDir: string): string => join(stateDir, 'store.postgres')

const markersIn = (stateDir: string): string[] => [embeddedMarkerPath(stateDir), postgresMarkerPath(stateDir)]

export const hadStore = (stateDir: string): boolean => markersIn(stateDir).some((marker) => existsSync(marker))

export const forgetStore = (stateDir: string): void => {
  for (const marker of markersIn(stateDir)) rmSync(marker, { force: true })
}
