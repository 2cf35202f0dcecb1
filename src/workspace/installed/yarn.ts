/** Compares Yarn's lockfiles with Yarn's record of the install: version 1, and later ones with the node-modules linker. Pure. */
import { wasLeftOut, parsedRecord, recordAt, type TreeComparison } from './bounded-read.ts'

/** Yarn 1 records the headers of its lockfile. An unknown header was added after the install. */
export const classicDifferences = (lockfile: string, marker: string): TreeComparison => {
  const known = recordAt(parsedRecord(marker), 'lockfileEntries')
  const wanted = lockfile.match(/^"?[^\s#"][^\n]*@[^\n]*:$/gm) ?? []
  const differences = wanted
    .flatMap((header) => header.slice(0, -1).split(', '))
    .map((entry) => entry.replaceAll('"', ''))
    .filter((entry) => !Object.hasOwn(known, entry))
    .map((entry) => `${entry} is not installed`)
  return { differences }
}

export const isBerry = (lockfile: string): boolean => /^__metadata:/m.test(lockfile)

/** Whether the project uses the node-modules linker. Plug'n'Play creates no tree. */
export const wantsTree = (settings: string | undefined): boolean =>
  /^nodeLinker:\s*["']?node-modules\b/m.test(settings ?? '')

interface Block {
  header: string
  fields: Map<string, string>
  dependencies: Map<string, string>
  optional: Set<string>
  items: string[]
}

const unquoted = (text: string): string => (/^".*"$/.test(text) ? text.slice(1, -1) : text)

const pairOf = (line: string): [name: string, value: string | undefined] => {
  const at = line.indexOf(': ')
  return at === -1
    ? [unquoted(line.replace(/:$/, '')), undefined]
    : [unquoted(line.slice(0, at)), unquoted(line.slice(at + 2))]
}

/** Parses the few levels of Yarn's own YAML. */
const blocksIn = (text: string): Block[] => {
  const blocks: Block[] = []
  let section = ''
  let inner = ''
  for (const line of text.split(/\r?\n/)) {
    const depth = line.search(/\S/)
    if (depth === -1 || line.startsWith('#') || line === ':') continue
    const block = blocks.at(-1)
    const [name, value] = pairOf(line.trim())
    if (depth === 0) {
      // A long header is a YAML complex key (`? …`).
      const header = unquoted(line.replace(/^\? /, '').replace(/:$/, ''))
      blocks.push({ header, fields: new Map(), dependencies: new Map(), optional: new Set(), items: [] })
    } else if (depth === 2) {
      section = name
      if (value !== undefined) block?.fields.set(name, value)
    } else if (depth === 4) {
      inner = name
      if (name.startsWith('- ')) block?.items.push(unquoted(name.slice(2)))
      else if (section === 'dependencies' && value !== undefined) block?.dependencies.set(name, value)
    } else if (section === 'dependenciesMeta' && name === 'optional' && value === 'true') block?.optional.add(inner)
  }
  return blocks
}

interface Wanted {
  name: string
  version: string
  /** Only packages that are the same on every machine. */
  fixed: boolean
  block: Block
}

const split = (locator: string): [name: string, reference: string] => {
  const at = locator.indexOf('@', 1)
  return at === -1 ? [locator, ''] : [locator.slice(0, at), locator.slice(at + 1)]
}

const wantedOf = (block: Block): Wanted => {
  const [name] = split(block.fields.get('resolution') ?? '')
  const fixed = !block.fields.has('conditions') && block.fields.get('linkType') === 'hard'
  return { name, version: block.fields.get('version') ?? '', fixed, block }
}

/** The version in a locator that the lockfile no longer contains. */
const versionIn = (reference: string): string =>
  /^npm:([^:#]+)/.exec(reference)?.[1] ?? /[:&]version=([^&]+)/.exec(reference)?.[1] ?? reference

interface There {
  /** name@version of everything that is installed. */
  known: Set<string>
  /** Versions by name that the lockfile does not have, so they were installed from another lockfile. */
  old: Map<string, string>
  workspaces: Set<string>
}

const installedIn = (state: readonly Block[], lock: ReadonlyMap<string, Wanted>): There => {
  const there: There = { known: new Set(), old: new Map(), workspaces: new Set() }
  for (const { header } of state) {
    const [name, virtual] = split(header)
    const reference = virtual.replace(/^virtual:[^#]*#/, '')
    const wanted = lock.get(`${name}@${reference}`)
    if (reference.startsWith('workspace:')) there.workspaces.add(header)
    if (wanted !== undefined) there.known.add(`${name}@${wanted.version}`)
    else if (/^(?:npm|patch):/.test(reference)) there.old.set(name, versionIn(reference))
  }
  return there
}

const dependenciesOf = ({ block }: Wanted, byDescriptor: ReadonlyMap<string, Wanted>): [name: string, Wanted][] =>
  [...block.dependencies].flatMap(([name, range]): [string, Wanted][] => {
    if (block.optional.has(name)) return []
    // Older versions write `^1.0.0` here and `npm:^1.0.0` in the header. The rest are links and patches of the project.
    const found = byDescriptor.get(`${name}@${range}`) ?? byDescriptor.get(`${name}@npm:${range}`)
    return found?.fixed === true ? [[name, found]] : []
  })

/** Development dependencies of a workspace's manifest; undefined = the manifest was not read. */
export type DevNames = (folder: string) => ReadonlySet<string> | undefined

interface Walk {
  byDescriptor: ReadonlyMap<string, Wanted>
  there: There
  differences: string[]
  unclear: boolean
  seen: Set<Wanted>
}

const isThere = ({ there }: Walk, { name, version }: Wanted): boolean => there.known.has(`${name}@${version}`)

/** Records missing packages and returns the installed ones. */
const sift = (walk: Walk, wanted: readonly Wanted[]): Wanted[] => {
  const fresh = wanted.filter((one) => !walk.seen.has(one))
  for (const one of fresh) walk.seen.add(one)
  for (const one of fresh.filter((each) => !isThere(walk, each))) {
    const old = walk.there.old.get(one.name)
    walk.differences.push(
      old === undefined ? `${one.name} is missing` : `${one.name} is ${old} instead of ${one.version}`,
    )
  }
  return fresh.filter((one) => isThere(walk, one))
}

const begin = (walk: Walk, workspace: Wanted, devNames: DevNames): Wanted[] => {
  const [, reference] = split(workspace.block.fields.get('resolution') ?? '')
  const dev = devNames(reference.replace(/^workspace:\.?/, ''))
  const direct = dependenciesOf(workspace, walk.byDescriptor)
  if (dev === undefined) {
    walk.unclear = true
    return []
  }
  return [true, false].flatMap((kind) => {
    const group = direct.filter(([name]) => dev.has(name) === kind).map(([, wanted]) => wanted)
    const missing = group.filter((one) => !isThere(walk, one))
    if (!wasLeftOut(group.length, missing.length, missing.filter(({ name }) => walk.there.old.has(name)).length))
      return sift(walk, group)
    walk.unclear ||= group.length > 0
    return []
  })
}

/**
 * Packages that the installed workspaces need according to the lockfile, but that the record of the install lacks. The lockfile
 * also contains entries for other systems, so only dependencies that are certainly needed here are followed.
 */
export const berryDifferences = (lockfile: string, marker: string, devNames: DevNames): TreeComparison => {
  const blocks = blocksIn(lockfile).filter(({ fields }) => fields.has('resolution'))
  const state = blocksIn(marker)
  if (blocks.length === 0 || !state.some(({ header }) => header === '__metadata'))
    return { differences: [], unclear: true }
  const all = blocks.map(wantedOf)
  const byDescriptor = new Map(
    all.flatMap((wanted) => wanted.block.header.split(', ').map((one) => [one, wanted] as const)),
  )
  const lock = new Map(all.map((wanted) => [wanted.block.fields.get('resolution') ?? '', wanted]))
  const walk: Walk = { byDescriptor, there: installedIn(state, lock), differences: [], unclear: false, seen: new Set() }
  const open = [...walk.there.workspaces].flatMap((locator) => {
    const workspace = lock.get(locator)
    return workspace === undefined ? [] : begin(walk, workspace, devNames)
  })
  for (let one = open.pop(); one !== undefined; one = open.pop())
    open.push(
      ...sift(
        walk,
        dependenciesOf(one, byDescriptor).map(([, wanted]) => wanted),
      ),
    )
  return { differences: walk.differences, unclear: walk.unclear }
}

/** Folders below `node_modules` with packages from a registry, according to the record of the install. */
export const berryFolders = (marker: string | undefined): string[] =>
  blocksIn(marker ?? '')
    .filter(({ header }) => /^@?[^@]+@(?:virtual:[^#]*#)?npm:/.test(header))
    .flatMap(({ items }) => items)
    .filter((location) => /^node_modules\/[^.]/.test(location) && !location.split('/').includes('..'))
