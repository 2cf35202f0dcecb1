/** The same action for several tasks: a few requests at a time, and what became of each. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { sendJson } from './client.ts'
import type { PageAction } from './actions.ts'

export interface BulkItem {
  /** Names the task in a refusal. */
  name: string
  action: PageAction
}

export interface BulkResult {
  done: number
  refused: { name: string; message: string }[]
}

const atOnce = 4

const carryOut = async (items: readonly BulkItem[]): Promise<BulkResult> => {
  const result: BulkResult = { done: 0, refused: [] }
  const rest = [...items]
  const next = async (): Promise<void> => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) {
      const { name, action } = item
      try {
        await sendJson<unknown>(action.method ?? 'POST', action.path, action.body)
        result.done += 1
      } catch (error) {
        result.refused.push({ name, message: error instanceof Error ? error.message : String(error) })
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, next))
  return result
}

export const useBulk = () => {
  const client = useQueryClient()
  return useMutation({ mutationFn: carryOut, onSettled: () => client.invalidateQueries() })
}
