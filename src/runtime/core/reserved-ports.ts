/** TCP ports reserved for a run or a merge, so that servers of parallel runs do not collide. */
import { messageOf } from '../../errors.ts'
import type { PortLease } from '../../process/port-lease.ts'
import type { Context } from './context.ts'

/** Undefined = none could be reserved. The work continues, because most of it needs no port. */
export const reservePorts = async (context: Context, id: string): Promise<PortLease | undefined> => {
  try {
    return await context.ports.processes.leasePorts(context.cacheDir, id)
  } catch (error) {
    context.log.warn({ id, error: messageOf(error) }, 'no ports could be reserved')
    return undefined
  }
}

export const portVariables = (ports: PortLease | undefined): Record<string, string> =>
  ports === undefined ? {} : { UNSTUCK_PORT: String(ports.first), UNSTUCK_PORT_RANGE: `${ports.first}-${ports.last}` }

/** Lines for the brief. */
export const portLines = (ports: PortLease | undefined): string[] =>
  ports === undefined
    ? []
    : [
        `Ports for servers that you start: ${ports.first}-${ports.last} ($UNSTUCK_PORT_RANGE; the first is $UNSTUCK_PORT).`,
      ]
