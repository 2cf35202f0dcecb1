/** The queries of the pages. Each event makes them stale; a slow poll covers an event that was missed. */
import { keepPreviousData, useQuery, type Query } from '@tanstack/react-query'
import type {
  ActivityView,
  ChecksView,
  DiffView,
  EventView,
  ExplainView,
  Health,
  InboxView,
  Judgement,
  Recovery,
  RecoveryFigures,
  GrantList,
  ReportView,
  Run,
  SiblingsView,
  StatusView,
} from '../../src/api/contract.ts'
import type { ServerClock } from '../logic/clock.ts'
import { getJson } from './client.ts'

/** First part of the key of queries that events do not refetch. */
export const onRequest = 'on request'

const slowMs = 20_000
const againMs = 2_000

/** After a failure the next attempt is soon and repeats without end, so that the page finds a restarted engine by itself. */
const interval = (query: Query<never, Error>): number => (query.state.status === 'error' ? againMs : slowMs)
const options = { refetchInterval: interval as () => number, refetchIntervalInBackground: true }

/** `whole` = with every goal that has ended, up to the limit of the API; false = with the newest; null = no request. */
export const useStatus = (whole: boolean | null) =>
  useQuery({
    ...options,
    queryKey: ['status', whole],
    enabled: whole !== null,
    queryFn: async ({ signal }) => {
      const view = await getJson<StatusView>(whole === true ? '/status?ended=100000' : '/status', signal)
      const clock: ServerClock = { at: Date.parse(view.at), heardAt: performance.now() }
      return { ...view, clock }
    },
    // Each status has a new time, so comparing it with the old one finds nothing to share.
    structuralSharing: false,
  })

export const useHealth = () =>
  useQuery({ ...options, queryKey: ['health'], queryFn: ({ signal }) => getJson<Health>('/health', signal) })

export const useInbox = () =>
  useQuery({ ...options, queryKey: ['inbox'], queryFn: ({ signal }) => getJson<InboxView>('/inbox', signal) })

const activityMs = 2_000

/** What the agent of a run is doing. Polled, because the output of an agent causes no events. */
export const useActivity = (run: string) =>
  useQuery({
    queryKey: [onRequest, 'activity', run],
    queryFn: ({ signal }) => getJson<ActivityView>(`/runs/${run}/activity`, signal),
    refetchInterval: activityMs,
  })

const reportMs = 60_000

/** Since a time. `mark` changes when the report may have changed, because reading it costs more than a status. */
export const useReport = (since: string, mark: string) =>
  useQuery({
    queryKey: [onRequest, 'report', since, mark],
    queryFn: ({ signal }) => getJson<ReportView>(`/report?since=${encodeURIComponent(since)}`, signal),
    refetchInterval: reportMs,
    placeholderData: keepPreviousData,
  })

export const useRun = (id: string) =>
  useQuery({ ...options, queryKey: ['run', id], queryFn: ({ signal }) => getJson<Run>(`/runs/${id}`, signal) })

/** Read once per state of the run and on request, because reading it scans the whole workspace. */
export const useDiff = (id: string, state: string) =>
  useQuery({ queryKey: [onRequest, id, state], queryFn: ({ signal }) => getJson<DiffView>(`/runs/${id}/diff`, signal) })

/** Read once per phase of the run, and again and again while its checks run. */
export const useChecks = (id: string, phase: string, live: boolean) =>
  useQuery({
    ...(live ? { refetchInterval: againMs } : {}),
    queryKey: [onRequest, 'checks', id, phase],
    queryFn: ({ signal }) => getJson<ChecksView>(`/runs/${id}/checks`, signal),
  })

const mostEvents = 1_000

/** All events of a task, page by page. */
const taskEvents = async (task: string, signal: AbortSignal): Promise<EventView[]> => {
  const events: EventView[] = []
  for (;;) {
    const after = events.at(-1)?.seq ?? 0
    const page = await getJson<EventView[]>(`/events?task=${task}&after=${after}&limit=${mostEvents}`, signal)
    events.push(...page)
    if (page.length < mostEvents) return events
  }
}

export const useTaskEvents = (task: string) =>
  useQuery({ ...options, queryKey: ['events', task], queryFn: ({ signal }) => taskEvents(task, signal) })

export const useRuns = (task: string | undefined) =>
  useQuery({
    ...options,
    queryKey: ['runs', task],
    queryFn: ({ signal }) => getJson<Run[]>(`/runs?task=${task}`, signal),
    enabled: task !== undefined,
  })

export const useGoalRuns = (goal: string) =>
  useQuery({
    ...options,
    queryKey: ['goal runs', goal],
    queryFn: ({ signal }) => getJson<Run[]>(`/runs?goal=${goal}`, signal),
  })

export const useRecoveries = (task: string | undefined) =>
  useQuery({
    ...options,
    queryKey: ['recoveries', task],
    queryFn: ({ signal }) => getJson<Recovery[]>(`/recoveries?task=${task}`, signal),
    enabled: task !== undefined,
  })

export const useJudgements = (task: string) =>
  useQuery({
    ...options,
    queryKey: ['judgements', task],
    queryFn: ({ signal }) => getJson<Judgement[]>(`/judgements?task=${task}`, signal),
  })

export const useHistory = (id: string, open: boolean) =>
  useQuery({
    ...options,
    queryKey: ['story', id],
    queryFn: ({ signal }) => getJson<ExplainView>(`/explain/${id}`, signal),
    enabled: open,
  })

/** Events tell only of the repository of this page, so the others are polled. */
export const useRepositories = () =>
  useQuery({
    ...options,
    queryKey: [onRequest, 'repositories'],
    queryFn: ({ signal }) => getJson<SiblingsView>('/repositories', signal),
  })

/** Since a time. Sums over many rows, so events do not refetch them. */
export const useRecoveryFigures = (since: string) =>
  useQuery({
    queryKey: [onRequest, 'recovery figures', since],
    queryFn: ({ signal }) => getJson<RecoveryFigures>(`/recovery-figures?since=${encodeURIComponent(since)}`, signal),
    refetchInterval: reportMs,
    placeholderData: keepPreviousData,
  })

export const useGrants = () =>
  useQuery({ ...options, queryKey: ['grants'], queryFn: ({ signal }) => getJson<GrantList>('/grants', signal) })
