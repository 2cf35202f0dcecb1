/**
 * Copies the work of an ended run into the fresh workspace of the next run. Files are written from a snapshot in the shadow. A
 * path that the new base changed as well keeps the content of the new base.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { lstatInside } from './lstat-inside.ts'
import { changesBetween } from './changes.ts'
import type { FileChange } from './repository-types.ts'
import { git, objectName } from './git.ts'
import { overRawFiles, withIndex } from './shadow.ts'
import type { Shadow } from './shadow.ts'

export interface OverlayRequest {
  /** Commit of the snapshot, and the base of its run. */
  snapshot: string
  from: string
  /** Base of the workspace `into`. */
  onto: string
  into: string
  /** Paths that contain no work, with everything below. */
  exclude?: readonly string[]
}

export interface OverlayResult {
  written: FileChange[]
  /** Changed by both, so the content of the new base was kept. */
  kept: string[]
}

const touches = (one: string, other: string): boolean =>
  one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`)

const gitlink = '160000'

export const overlayWork = async (
  shadow: Shadow,
  { snapshot, from, onto, into, exclude = [] }: OverlayRequest,
): Promise<OverlayResult> => {
  const moved = (await changesBetween(shadow, from, onto)).map(({ path }) => path)
  const isWork = ({ path, newMode }: FileChange): boolean =>
    newMode !== gitlink && !exclude.some((other) => path === other || path.startsWith(`${other}/`))
  const changes = (await changesBetween(shadow, from, snapshot)).filter(isWork)
  const laid = changes.filter(({ path }) => !moved.some((other) => touches(path, other)))
  const left = changes.filter((change) => !laid.includes(change)).map(({ path }) => path)
  for (const { path } of laid.filter(({ kind }) => kind === 'deleted')) {
    const found = await lstatInside(into, path)
    if (found?.isFile() === true || found?.isSymbolicLink() === true) await rm(join(into, path))
  }
  const written = laid.filter(({ kind }) => kind !== 'deleted').map(({ path }) => path)
  if (written.length === 0) return { written: laid, kept: left }
  await withIndex(shadow, async (indexFile) => {
    const at = overRawFiles(shadow, into, indexFile)
    await git(['read-tree', objectName(snapshot)], at)
    await git(['checkout-index', '--force', '-z', '--stdin'], {
      ...at,
      input: written.map((path) => `${path}\0`).join(''),
    })
  })
  return { written: laid, kept: left }
}
