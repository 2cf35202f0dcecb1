import { expect, it } from 'vitest'
import { nodeSize, planGraph, type PlanTask } from './plan-graph.ts'

const task = (number: number, dependsOn: number[] = [], parent?: number): PlanTask => ({
  ...{ id: `t-${number}`, number, dependsOn: dependsOn.map((each) => `t-${each}`) },
  rework: parent === undefined ? null : { parent: `t-${parent}` },
})

const columnOf = (left: number): number => left / (nodeSize.width + nodeSize.gapX)

it('a task stands behind everything that it waits for, and lines lead from left to right', () => {
  const { nodes, edges, width } = planGraph([task(1), task(2), task(3, [1]), task(4, [3, 2]), task(5)])
  expect(nodes.map(({ left }) => columnOf(left))).toEqual([0, 0, 1, 2, 0])
  expect(edges.map(({ from, to }) => `${from} ${to}`)).toEqual(['t-1 t-3', 't-3 t-4', 't-2 t-4'])
  expect(width).toBe(3 * nodeSize.width + 2 * nodeSize.gapX)
})

it('a task that continues another stands behind it', () => {
  const { nodes, edges } = planGraph([task(1), task(2, [], 1)])
  expect(nodes.map(({ left }) => columnOf(left))).toEqual([0, 1])
  expect(edges).toMatchObject([{ from: 't-1', to: 't-2', continues: true }])
})

it('neither a circle nor a task that is not there holds it up, and no two tasks share a place', () => {
  const { nodes } = planGraph([task(1, [2]), task(2, [1]), task(3, [9]), task(4)])
  expect(new Set(nodes.map(({ left, top }) => `${left} ${top}`)).size).toBe(4)
})

it('a line past a column keeps a row there free', () => {
  const { nodes, edges } = planGraph([task(1), task(2, [1]), task(3, [2]), task(4, [1, 3])])
  expect(nodes.map(({ top }) => top)).toEqual([0, 0, 0, 0])
  const long = edges.find(({ from, to }) => from === 't-1' && to === 't-4')
  const below = nodeSize.height + nodeSize.gapY + nodeSize.height / 2
  expect(long?.path).toContain(` ${below} H `)
})
