/** The plan of a goal as a graph: what each task waits for. Shown only where tasks depend on each other. */
import { readableTitle } from '../../src/api/contract.ts'
import type { BoardGoal, BoardTask } from '../logic/board.ts'
import { nodeSize, planGraph, type Node } from '../logic/plan-graph.ts'
import { linkTo } from '../logic/route.ts'
import { visible, words } from '../logic/text.ts'
import { SafeText, Section } from './basics.tsx'

const statusText = ({ status }: BoardTask): string => words(status).replace('(', ': ').replace(')', '')

const NodeView = ({ node, task, goal }: { node: Node; task: BoardTask; goal: BoardGoal }) => {
  const needs = goal.tasks.filter(({ id }) => task.dependsOn.includes(id)).map(({ number }) => `#${number}`)
  const after = needs.length === 0 ? '' : `, after ${needs.join(', ')}`
  const title = visible(readableTitle(task.title))
  return (
    <li style={{ left: node.left, top: node.top, width: nodeSize.width, height: nodeSize.height }}>
      <a className={`node ${task.state}`} href={linkTo.task(task.id)} title={title}>
        <span className="node-title">
          <span className="number">#{task.number}</span> <SafeText text={readableTitle(task.title)} />
        </span>{' '}
        <span className="node-state">
          {statusText(task)}
          <span className="spoken">{after}</span>
        </span>
      </a>
    </li>
  )
}

export const PlanSection = ({ goal }: { goal: BoardGoal }) => {
  const { nodes, edges, width, height } = planGraph(goal.tasks)
  if (edges.length === 0) return null
  return (
    <Section title="Plan">
      <div className="plan" tabIndex={0} role="group" aria-label="What each task waits for">
        <div className="plan-body" style={{ width, height }}>
          <svg width={width} height={height} aria-hidden="true">
            {edges.map(({ from, to, path, continues }) => (
              <path key={`${from} ${to}`} d={path} className={continues ? 'continues' : ''} />
            ))}
          </svg>
          <ol>
            {nodes.map((node) => {
              const task = goal.tasks.find(({ id }) => id === node.id)
              return task === undefined ? null : <NodeView key={node.id} node={node} task={task} goal={goal} />
            })}
          </ol>
        </div>
      </div>
    </Section>
  )
}
