/** Follows the log of one run from its first line to its last, page by page. A failed request is repeated. */
import { useEffect, useState } from 'react'
import type { LogView } from '../../src/api/contract.ts'
import { appendLog, newRunLog, type GrowingLog } from '../logic/log.ts'
import { getJson } from './client.ts'

const pollMs = 700
const againMs = 2_000

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** The log itself grows in place; this object is a new one after each page. */
export interface FollowedLog {
  log: GrowingLog
  ended: boolean
  problem: string | undefined
}

const begun = (): FollowedLog => ({ log: newRunLog(), ended: false, problem: undefined })

const follow = async (
  id: string,
  signal: AbortSignal,
  change: (next: (old: FollowedLog) => FollowedLog) => void,
): Promise<void> => {
  const log = newRunLog()
  let cursor = { launch: 0, stdout: 0, stderr: 0 }
  while (!signal.aborted) {
    const { launch, stdout, stderr } = cursor
    try {
      const page = await getJson<LogView>(`/runs/${id}/log?launch=${launch}&stdout=${stdout}&stderr=${stderr}`, signal)
      const moved = page.next.launch !== launch || page.next.stdout !== stdout || page.next.stderr !== stderr
      cursor = page.next
      if (signal.aborted) return
      appendLog(log, page)
      change(() => ({ log, ended: page.ended, problem: undefined }))
      if (page.ended) return
      if (!moved) await pause(pollMs)
    } catch (error) {
      if (signal.aborted) return
      change((old) => ({ ...old, problem: error instanceof Error ? error.message : String(error) }))
      await pause(againMs)
    }
  }
}

export const useRunLog = (id: string): FollowedLog => {
  const [state, setState] = useState(begun)
  useEffect(() => {
    const left = new AbortController()
    setState(begun)
    void follow(id, left.signal, setState)
    return () => left.abort()
  }, [id])
  return state
}
