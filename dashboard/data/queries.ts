/** What the pages ask for. Events make all of it stale; a slow poll stands behind them, should one be missed. */
import { useQuery, type Query } from '@tanstack/react-query'
import type { DiffView, ExplainView, Health, Recovery, Run, StatusView } from '../../src/api/contract.ts'
import type { ServerClock } from '../logic/clock.ts'
import { get } from './client.ts'

/** First part of the key of queries that events do not make stale. */
export const onRequest = 'on request'

const slowMs = 20_000
const againMs = 2_000

/** Asked again soon after a failure, for ever: an engine that comes back is found without a reload. */
const interval = (query: Query<never, Error>): number => (query.state.status === 'error' ? againMs : slowMs)
const options = { refetchInterval: interval as () => number, refetchIntervalInBackground: true }

/** `whole` = with every goal that has ended (as many as the API gives), else with the newest of them; null = not asked for. */
export const useStatus = (whole: boolean | null) =>
  useQuery({
    ...options,
    queryKey: ['status', whole],
    enabled: whole !== null,
    queryFn: async ({ signal }) => {
      const view = await get<StatusView>(whole === true ? '/status?ended=100000' : '/status', signal)
      const clock: ServerClock = { at: Date.parse(view.at), heardAt: performance.now() }
      return { ...view, clock }
    },
    // A new time in each answer: comparing all the rest would be in vain.
    structuralSharing: false,
  })

export const useHealth = () =>
  useQuery({ ...options, queryKey: ['health'], queryFn: ({ signal }) => get<Health>('/health', signal) })

export const useRun = (id: string) =>
  useQuery({ ...options, queryKey: ['run', id], queryFn: ({ signal }) => get<Run>(`/runs/${id}`, signal) })

/** Read once for each state of the run, and when the reader asks: while an agent works it costs a look at its whole folder. */
export const useDiff = (id: string, state: string) =>
  useQuery({ queryKey: [onRequest, id, state], queryFn: ({ signal }) => get<DiffView>(`/runs/${id}/diff`, signal) })

export const useRuns = (task: string | undefined) =>
  useQuery({
    ...options,
    queryKey: ['runs', task],
    queryFn: ({ signal }) => get<Run[]>(`/runs?task=${task}`, signal),
    enabled: task !== undefined,
  })

export const useRecoveries = (task: string | undefined) =>
  useQuery({
    ...options,
    queryKey: ['recoveries', task],
    queryFn: ({ signal }) => get<Recovery[]>(`/recoveries?task=${task}`, signal),
    enabled: task !== undefined,
  })

export const useStory = (id: string, open: boolean) =>
  useQuery({
    ...options,
    queryKey: ['story', id],
    queryFn: ({ signal }) => get<ExplainView>(`/explain/${id}`, signal),
    enabled: open,
  })
