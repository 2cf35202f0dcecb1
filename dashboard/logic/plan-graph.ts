/** The plan of a goal as a picture: tasks in columns by what they wait for, and a line from each task to those that need it. Pure. */

export interface PlanTask {
  id: string
  number: number
  dependsOn: readonly string[]
  /** The task whose work it continues or corrects. */
  rework: { parent: string } | null
}

export const nodeSize = { width: 208, height: 64, gapX: 56, gapY: 16 } as const

export interface Node {
  id: string
  left: number
  top: number
}

export interface Edge {
  from: string
  to: string
  /** It continues or corrects the other instead of needing it. */
  continues: boolean
  path: string
}

export interface PlanGraph {
  nodes: Node[]
  edges: Edge[]
  width: number
  height: number
}

type Link = Omit<Edge, 'path'>

const linksOf = (tasks: readonly PlanTask[]): Link[] => {
  const known = new Set(tasks.map(({ id }) => id))
  return tasks.flatMap(({ id, dependsOn, rework }) => {
    const needs = dependsOn.filter((other) => known.has(other)).map((from) => ({ from, to: id, continues: false }))
    const parent = rework?.parent
    return parent === undefined || !known.has(parent) || dependsOn.includes(parent)
      ? needs
      : [...needs, { from: parent, to: id, continues: true }]
  })
}

/** The longest way from a task that waits for nothing. A circle, which no plan should have, ends where it began. */
const levelsOf = (tasks: readonly PlanTask[], links: readonly Link[]): Map<string, number> => {
  const before = Map.groupBy(links, ({ to }) => to)
  const levels = new Map<string, number>()
  const levelOf = (id: string, above: ReadonlySet<string>): number => {
    const known = levels.get(id)
    if (known !== undefined) return known
    if (above.has(id)) return 0
    const needed = before.get(id) ?? []
    const level =
      needed.length === 0 ? 0 : 1 + Math.max(...needed.map(({ from }) => levelOf(from, new Set([...above, id]))))
    levels.set(id, level)
    return level
  }
  for (const { id } of tasks) levelOf(id, new Set())
  return levels
}

/** A place in a column: a task, or the way of a line past the columns between its ends, so that it crosses no task. */
interface Place {
  key: string
  level: number
  /** Tasks keep their order; lines and tasks that nothing is connected with come last. */
  order: number
  /** The places before it that it is connected with. */
  before: string[]
}

const wayKey = ({ from, to }: Link, level: number): string => `${from} ${to} ${level}`

/** The places of a line between the columns of its ends. */
const wayOf = (link: Link, levels: ReadonlyMap<string, number>): Place[] => {
  const [begin, end] = [levels.get(link.from) ?? 0, levels.get(link.to) ?? 0]
  return Array.from({ length: Math.max(0, end - begin - 1) }, (_, index) => {
    const level = begin + 1 + index
    return {
      ...{ key: wayKey(link, level), level, order: Number.MAX_SAFE_INTEGER - 1 },
      before: [index === 0 ? link.from : wayKey(link, level - 1)],
    }
  })
}

const placesOf = (tasks: readonly PlanTask[], links: readonly Link[], levels: ReadonlyMap<string, number>): Place[] => {
  const linked = new Set(links.flatMap(({ from, to }) => [from, to]))
  const lastBefore = (link: Link): string => wayOf(link, levels).at(-1)?.key ?? link.from
  return [
    ...tasks.map(({ id, number }) => ({
      ...{ key: id, level: levels.get(id) ?? 0, order: linked.has(id) ? number : Number.MAX_SAFE_INTEGER },
      before: links.filter(({ to }) => to === id).map(lastBefore),
    })),
    ...links.flatMap((link) => wayOf(link, levels)),
  ]
}

/** The mean row of what stands before it, so that lines cross little. */
const wishedRow = ({ before }: Place, rows: ReadonlyMap<string, number>): number =>
  before.length === 0 ? 0 : before.reduce((sum, key) => sum + (rows.get(key) ?? 0), 0) / before.length

/** Column by column. A place takes its wished row, or the next free one below it. */
const rowsOf = (places: readonly Place[]): Map<string, number> => {
  const rows = new Map<string, number>()
  for (const [, column] of [...Map.groupBy(places, ({ level }) => level)].toSorted(([a], [b]) => a - b)) {
    let free = 0
    const ordered = column
      .map((place) => ({ place, wish: wishedRow(place, rows) }))
      .toSorted((a, b) => a.wish - b.wish || a.place.order - b.place.order)
    for (const { place, wish } of ordered) {
      const row = Math.max(free, Math.floor(wish))
      rows.set(place.key, row)
      free = row + 1
    }
  }
  return rows
}

const { width, height, gapX, gapY } = nodeSize

const leftOf = (level: number): number => level * (width + gapX)
const middleOf = (row: number): number => row * (height + gapY) + height / 2

const bendTo = (x: number, y: number, fromY: number): string =>
  `C ${x - gapX / 2} ${fromY}, ${x - gapX / 2} ${y}, ${x} ${y}`

/** From the right side of one task to the left side of the other, straight past the columns between them. */
const pathOf = (link: Link, levels: ReadonlyMap<string, number>, rows: ReadonlyMap<string, number>): string => {
  const start = middleOf(rows.get(link.from) ?? 0)
  const parts = [`M ${leftOf(levels.get(link.from) ?? 0) + width} ${start}`]
  let last = start
  for (const { key, level } of wayOf(link, levels)) {
    const y = middleOf(rows.get(key) ?? 0)
    parts.push(bendTo(leftOf(level), y, last), `H ${leftOf(level) + width}`)
    last = y
  }
  parts.push(bendTo(leftOf(levels.get(link.to) ?? 0), middleOf(rows.get(link.to) ?? 0), last))
  return parts.join(' ')
}

export const planGraph = (tasks: readonly PlanTask[]): PlanGraph => {
  const links = linksOf(tasks)
  const levels = levelsOf(tasks, links)
  const rows = rowsOf(placesOf(tasks, links, levels))
  const nodes = tasks.map(({ id }) => ({
    id,
    left: leftOf(levels.get(id) ?? 0),
    top: (rows.get(id) ?? 0) * (height + gapY),
  }))
  const edges = links.map((link) => ({ ...link, path: pathOf(link, levels, rows) }))
  const columns = Math.max(0, ...levels.values()) + 1
  const tallest = Math.max(0, ...rows.values()) + 1
  return { nodes, edges, width: leftOf(columns) - gapX, height: tallest * (height + gapY) - gapY }
}
