/** The few files that the runtime touches itself, over the simulated clones, launch folders and a small tree of its own. */
import { dirname } from 'node:path'
import type { Files } from '../../src/runtime/core/files.ts'
import { cloneDirOf, type SimGit } from './git.ts'
import type { ProcessWorld } from './processes.ts'

type Node = { kind: 'dir' } | { kind: 'file'; text: string; writtenAt?: number }

/** Without a stack: the runtime asks for thousands of files that are not there, and nobody reads where. */
const absent = (path: string): Error => {
  const depth = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  const error = new Error(`ENOENT: no such file or directory, '${path}'`)
  Error.stackTraceLimit = depth
  return Object.assign(error, { code: 'ENOENT' })
}

const inTree = (files: ReadonlyMap<string, string>, path: string): Node | undefined => {
  if (path === '') return { kind: 'dir' }
  const text = files.get(path)
  if (text !== undefined) return { kind: 'file', text }
  for (const name of files.keys()) if (name.startsWith(`${path}/`)) return { kind: 'dir' }
  return undefined
}

interface Below {
  git: SimGit
  processes: ProcessWorld
  wall: () => Date
}

export const createFiles = ({ git, processes, wall }: Below, start: Record<string, 'dir' | { text: string }>) => {
  // The program of the check that is inferred from the repository, on the engine's PATH.
  const nodes = new Map<string, Node>([['/bin/npm', { kind: 'file', text: '' }]])
  const makeDirs = (path: string): void => {
    for (let at = path; !nodes.has(at); at = dirname(at)) nodes.set(at, { kind: 'dir' })
  }
  nodes.set('/', { kind: 'dir' })
  for (const [path, node] of Object.entries(start)) {
    makeDirs(dirname(path))
    nodes.set(path, node === 'dir' ? { kind: 'dir' } : { kind: 'file', text: node.text })
  }
  const workTreeOf = (path: string): { files: Map<string, string>; below: string } | undefined => {
    if (path === git.root || path.startsWith(`${git.root}/`))
      return { files: git.userFiles, below: path.slice(git.root.length + 1) }
    const dir = cloneDirOf(git, path)
    const clone = git.clones.get(dir ?? '')
    return dir === undefined || clone === undefined
      ? undefined
      : { files: clone.files, below: path.slice(dir.length + 1) }
  }
  const look = (named: string): Node | undefined => {
    const path = named.replace(/(?<=.)\/$/, '')
    const own = nodes.get(path)
    if (own !== undefined) return own
    if (path.endsWith('/gate'))
      return processes.launches.get(dirname(path))?.gate === true ? { kind: 'file', text: '' } : undefined
    const tree = workTreeOf(path)
    return tree === undefined ? undefined : inTree(tree.files, tree.below)
  }
  const need = (path: string): Node => {
    const node = look(path)
    if (node === undefined) throw absent(path)
    return node
  }
  const textAt = (path: string): string => {
    const node = look(path)
    return node?.kind === 'file' ? node.text : ''
  }
  const write = (path: string, text: string): void => {
    makeDirs(dirname(path))
    nodes.set(path, { kind: 'file', text, writtenAt: wall().getTime() })
  }
  const files: Files = {
    accessSync: (path) => void need(path),
    appendFileSync: (path, text) => write(path, `${textAt(path)}${text}`),
    chmodSync: (path) => void need(path),
    existsSync: (path) => look(path) !== undefined,
    isLink: () => false,
    mkdirSync: (path) => makeDirs(path),
    readFileSync: (path) => {
      const node = need(path)
      if (node.kind === 'dir') throw new Error(`EISDIR: ${path}`)
      return node.text
    },
    readOwnBytes: (path) => {
      const node = look(path)
      if (node === undefined) return 'none'
      return node.kind === 'dir' ? { refused: 'it is not a regular file' } : Buffer.from(node.text)
    },
    readdirSync: (path) => {
      const tree = workTreeOf(path)
      const names = [...(tree?.files.keys() ?? [])]
        .filter((name) => tree?.below === '' || name.startsWith(`${tree?.below}/`))
        .map((name) => name.slice(tree?.below === '' ? 0 : (tree?.below.length ?? 0) + 1))
      const own = [...nodes.keys(), ...processes.launches.keys()]
        .filter((name) => name !== path && name.startsWith(`${path}/`))
        .map((name) => name.slice(path.length + 1))
      return [...new Set([...names, ...own].map((name) => name.split('/')[0] ?? ''))].sort()
    },
    realpathSync: (path) => {
      need(path)
      return path
    },
    renameSync: (from, to) => {
      const node = need(from)
      makeDirs(dirname(to))
      nodes.delete(from)
      nodes.set(to, node)
    },
    rmSync: (path) => {
      for (const name of [...nodes.keys()]) if (name === path || name.startsWith(`${path}/`)) nodes.delete(name)
      for (const dir of [...git.clones.keys()]) if (dir.startsWith(`${path}/`)) git.calls.removeWorkspace(dir)
      processes.clear(path)
    },
    statSync: (path) => {
      const node = need(path)
      return {
        mode: 0o700,
        uid: 0,
        mtimeMs: node.kind === 'file' ? (node.writtenAt ?? 0) : 0,
        size: node.kind === 'file' ? Buffer.byteLength(node.text) : 0,
        isDirectory: () => node.kind === 'dir',
        isFile: () => node.kind === 'file',
      }
    },
    userId: () => 0,
    homeDir: () => '/home/sim',
    writeFileSync: write,
  }
  return files
}
