/** Copies a folder recursively, as fast as possible. */
import { constants } from 'node:fs'
import { chmod, cp, lstat, mkdir, readdir, utimes } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { removeFolder } from './remove-folder.ts'
import { defined } from '../domain/defined.ts'

/** Copying mostly creates small files, which keeps one processor busy per process, so several processes copy in parallel. */
const mostWorkers = 4
/** Bytes of one command line; the kernel accepts at least 128 KiB. */
const lineBytes = 64 * 1024
/** Folders that contain nearly everything. Their entries are distributed, not the folders themselves. */
const opened = new Set(['.pnpm'])

interface Part {
  from: string[]
  into: string
}

/** The `cp` command lines, with disjoint targets. */
const partsOf = async (from: string, into: string, workers: number): Promise<Part[]> => {
  await mkdir(into)
  const names = await readdir(from)
  const below = names.filter((name) => opened.has(name))
  const found: Part[] = []
  for (const name of below) found.push(...(await partsOf(join(from, name), join(into, name), workers)))
  const plain = names.filter((name) => !opened.has(name))
  const most = Math.max(1, Math.ceil(plain.length / (workers * 4)))
  let part: Part | undefined
  let bytes = 0
  for (const name of plain) {
    const path = join(from, name)
    if (part === undefined || part.from.length >= most || bytes > lineBytes) {
      part = { from: [], into }
      bytes = 0
      found.push(part)
    }
    part.from.push(path)
    bytes += path.length + 1
  }
  return found
}

const runCp = async ({ from, into }: Part, signal: AbortSignal | undefined): Promise<boolean> => {
  const args = ['-a', '--reflink=auto', '--target-directory', into, '--', ...from]
  const { failed } = await execa('cp', args, {
    reject: false,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
    ...defined({ cancelSignal: signal }),
  })
  signal?.throwIfAborted()
  return !failed
}

/** Copies mode and times of a folder that was created here; `cp` copies those of all others. */
const settleFolder = async (from: string, to: string): Promise<void> => {
  const { mode, atime, mtime } = await lstat(from)
  await chmod(to, mode)
  await utimes(to, atime, mtime)
}

/** `cp` shares blocks where the file system supports it. False = `cp` has no such options, or it failed. */
const copyInParts = async (from: string, to: string, signal: AbortSignal | undefined): Promise<boolean> => {
  const workers = Math.min(mostWorkers, availableParallelism())
  const parts = await partsOf(from, to, workers)
  let well = true
  const work = async (): Promise<void> => {
    for (let part = parts.pop(); part !== undefined && well; part = parts.pop()) well &&= await runCp(part, signal)
  }
  await Promise.all(Array.from({ length: workers }, work))
  if (!well) return false
  for (const name of opened) {
    if ((await lstat(join(from, name)).catch(() => undefined))?.isDirectory() === true)
      await settleFolder(join(from, name), join(to, name))
  }
  await settleFolder(from, to)
  return true
}

/** `to` must not exist, but its parent folder must. */
export const copyTree = async (from: string, to: string, signal?: AbortSignal): Promise<void> => {
  if (await copyInParts(from, to, signal)) return
  await removeFolder(to)
  await cp(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    preserveTimestamps: true,
    mode: constants.COPYFILE_FICLONE,
  })
}
