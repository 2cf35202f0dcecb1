/** What a person may do, as requests to the API. After each of them every query is refetched. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { AlwaysChangeView, SiblingAddress } from '../../src/api/contract.ts'
import type { BoardGoal, BoardQuestion, BoardTask } from '../logic/board.ts'
import { answerBody, type QuestionChoice, type RemainingAction } from '../logic/questions.ts'
import { linkTo } from '../logic/route.ts'
import { getJson, sendJson } from './client.ts'

export interface PageAction {
  label: string
  /** The same in a terminal. */
  command?: string
  /** Absent = POST. */
  method?: 'POST' | 'PATCH'
  path: string
  body?: object
  /** A text that is sent along. */
  field?: { name: string; label: string; max: number; required: boolean }
  /** Asked first where the action cannot be undone. */
  confirm?: { question: string; detail: string; yes: string; no?: string; patch?: string }
  /** Read first, because it is confirmed by what it would change. */
  preview?: string
  tone?: 'main' | 'danger'
  /** The page that shows the result. */
  leadsTo?: string
}

/** `report` is told what became of an action; `error` undefined = it was carried out. */
export type Report = (action: PageAction, outcome: { result?: unknown; error?: Error }) => void

export const useAction = (report?: Report) => {
  const client = useQueryClient()
  return useMutation({
    mutationFn: ({ method = 'POST', path, body }: PageAction) => sendJson<unknown>(method, path, body),
    // Here, because the button itself may be gone as soon as the queries are refetched.
    onSuccess: (result, action) => {
      report?.(action, { result })
      if (action.leadsTo !== undefined) location.hash = action.leadsTo
    },
    onError: (error, action) => report?.(action, { error }),
    onSettled: () => client.invalidateQueries(),
  })
}

const by = { by: 'dashboard' }

const ending = (what: 'goal' | 'task'): Pick<PageAction, 'confirm' | 'tone'> => ({
  tone: 'danger',
  confirm: {
    question: `Cancel this ${what}?`,
    yes: `Cancel ${what}`,
    detail:
      what === 'goal'
        ? 'Its agents are stopped and no new ones are started. Their changes are kept as a snapshot.'
        : 'Its agent is stopped and no new one is started. Its changes are kept as a snapshot.',
  },
})

export const goalAction = (kind: BoardGoal['actions'][number], { id, state }: BoardGoal): PageAction => {
  const plain = { command: `unstuck ${kind} ${id}`, path: `/goals/${id}/${kind}` }
  switch (kind) {
    case 'land':
      return { ...plain, label: 'Land', tone: 'main' }
    case 'pause':
      return { ...plain, label: 'Pause' }
    case 'resume':
      return { ...plain, label: 'Resume', path: '/resume', body: { goal: id }, tone: 'main' }
    case 'retry':
      return { ...plain, label: 'Retry tasks', ...(state === 'failed' ? { tone: 'main' } : {}) }
    case 'cancel':
      return { ...plain, label: 'Cancel', ...ending('goal') }
  }
}

const hint = { name: 'hint', max: 1000 }

/** An edit is a form of its own; see parts/edit.tsx. */
export const taskAction = (
  kind: Exclude<RemainingAction, 'edit'>,
  { id, run }: Pick<BoardTask, 'id' | 'run'>,
): PageAction => {
  const plain = { command: `unstuck ${kind} ${id}`, path: `/tasks/${id}/${kind}` }
  // The work that the page shows; other work is refused.
  const decision = { ...by, ...(run === null || run.commit === null ? {} : { commit: run.commit }) }
  switch (kind) {
    case 'approve':
      return { ...plain, label: 'Approve', body: decision, tone: 'main' }
    case 'reject':
      return {
        ...plain,
        label: 'Reject',
        command: `unstuck reject ${id} --note "…"`,
        body: decision,
        field: { name: 'note', label: 'What has to be corrected', max: 1000, required: true },
      }
    case 'give-back':
      return { ...plain, label: 'Give back', body: by, tone: 'main' }
    case 'take-over':
      return { ...plain, label: 'Take over', body: by }
    case 'tell':
      return {
        ...plain,
        label: 'Tell the agent',
        command: `unstuck tell ${id} "…"`,
        body: by,
        field: {
          name: 'message',
          label: 'What it should know now: it is interrupted, and continues with this',
          max: 1000,
          required: true,
        },
      }
    case 'retry':
      return {
        ...plain,
        label: 'Retry',
        field: { ...hint, label: 'Hint for all further attempts (optional, sent with Retry)', required: false },
      }
    case 'hint':
      return {
        label: 'Retry with a hint',
        command: `unstuck retry ${id} --hint "…"`,
        path: `/tasks/${id}/retry`,
        field: { ...hint, label: 'Hint for all further attempts', required: true },
      }
    case 'cancel':
      return { ...plain, label: 'Cancel', ...ending('task') }
  }
}

/** The action with what it would change, to be confirmed. */
export const previewed = async (action: PageAction): Promise<PageAction> => {
  if (action.preview === undefined) return action
  const { path, command, diff, seen } = await getJson<AlwaysChangeView>(action.preview)
  return {
    ...action,
    body: { ...action.body, seen },
    confirm: {
      question: diff === '' ? 'Run it?' : 'Write this into your configuration?',
      detail:
        diff === ''
          ? `${path} lists the command already.`
          : `${path} then lists \`${command}\`: it runs without a question whenever an agent proposes it.`,
      yes: diff === '' ? 'Run it' : 'Write it, and run the command',
      no: 'Change nothing',
      patch: diff,
    },
  }
}

/** A choice of a question, with the text that a person wrote for it. */
export const answerTo = (
  { id, taskId }: Pick<BoardQuestion, 'id' | 'taskId'>,
  choice: QuestionChoice,
  written: string,
): PageAction => ({
  label: choice.label,
  path: `/escalations/${id}/answer`,
  body: answerBody(choice, written),
  ...(choice.kind === 'cancel' ? ending(taskId === null ? 'goal' : 'task') : {}),
  ...(choice.kind === 'approve_always' ? { preview: `/escalations/${id}/always` } : {}),
  // The page of the task shows the folder that was prepared.
  ...(choice.kind === 'take_over' && taskId !== null ? { leadsTo: linkTo.task(taskId) } : {}),
})

/** The same choice for several questions. */
export const answersTo = (
  questions: readonly Pick<BoardQuestion, 'id'>[],
  choice: QuestionChoice,
  written: string,
): PageAction => {
  const { by: person, ...answer } = answerBody(choice, written)
  return {
    label: choice.label,
    path: '/escalations/answers',
    body: { answers: questions.map(({ id }) => ({ id, ...answer })), by: person },
    ...(choice.kind === 'cancel'
      ? {
          ...ending('task'),
          confirm: {
            question: `Cancel ${questions.length} at once?`,
            yes: `Cancel ${questions.length}`,
            detail: 'Their agents are stopped and no new ones are started. Their changes are kept as snapshots.',
          },
        }
      : {}),
  }
}

/** The address of the pages of another repository; it logs this browser in once. */
export const visitRepository = async (id: string): Promise<string> =>
  (await sendJson<SiblingAddress>('POST', `/repositories/${id}/visit`)).url
