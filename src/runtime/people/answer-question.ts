/** Carries out the choice that a person made. CLI, API and dashboard all use it, so a choice has the same effect everywhere. */
import type { Answered, Choice, ChoiceKind, Escalation } from '../../domain/escalation.ts'
import { withEdit, type Task } from '../../domain/task.ts'
import type { ListKey } from '../../config/config-edit.ts'
import { AppError } from '../../errors.ts'
import { parsePathRule, pathMatcher } from '../../recovery/policy/path-rule.ts'
import type { Queryable } from '../../store/db.ts'
import { answerEscalation, getEscalation } from '../../store/escalation.ts'
import { allowInGoal, getGoal, lockGoal, moveGoal, progressGoal, resetGoalSpend } from '../../store/goal.ts'
import { getTask } from '../../store/task.ts'
import type { Context } from '../core/context.ts'
import { cancelGoal, cancelTask, goalNamed, resumeGoals, retryGoal, retryTask, type CancelRunning } from './commands.ts'
import { commandTransaction, movedOrThrow } from './lost-race.ts'
import { answerProposal, checkProposalAnswer, rejectionHint, type ProposalChoice } from './answer-proposal.ts'
import { addEntry, plannedEntry } from './owner-list.ts'
import { approveAlways } from './approve-always.ts'
import { approveTask, askReviewerAgain, rejectTask } from './approve.ts'
import { takeOverTask } from './take-over-task.ts'
import { editBeforeRetry } from './edit-task.ts'
import { answerAside, isAsideChoice } from './answer-aside.ts'
import { leavePathsOut } from './leave-out.ts'
import { grantInAnswer } from './path-grants.ts'
import { replyToAgent } from './reply-to-agent.ts'
import { defined } from '../../domain/defined.ts'

export interface Answer {
  /** Id of the question. */
  id: string
  choice: string
  input?: string | undefined
  /** Name of the person. */
  by?: string | undefined
  /** For `approve_always`: the `seen` of the change that was shown. */
  seen?: string | undefined
}

const questionNamed = async (db: Queryable, id: string): Promise<Escalation> => {
  const found = await getEscalation(db, id)
  if (found === undefined) throw new AppError('NOT_FOUND', `there is no question ${id}; "unstuck status" lists them`)
  return found
}

const refuseDecided = ({ id, state, answer }: Escalation): void => {
  if (state === 'pending') return
  const how = answer === null ? state : answer.replaceAll('_', ' ')
  throw new AppError('STALE', `question ${id} is already decided: ${how}; "unstuck status" shows what waits for you`)
}

const choiceNamed = ({ choices }: Escalation, id: string): Choice => {
  const found = choices.find((choice) => choice.id === id)
  if (found !== undefined) return found
  const offered = choices.map((choice) => choice.id).join(', ')
  throw new AppError('INPUT_INVALID', `choice: this question does not offer "${id}"; choose one of: ${offered}`)
}

/** The text of the person, else the suggested one; '' for a choice without a text. */
const inputOf = ({ id, input }: Choice, given: string | undefined): string => {
  if (input === null) {
    if (given !== undefined) throw new AppError('INPUT_INVALID', `input: the choice ${id} takes no text; leave it out`)
    return ''
  }
  const text = (given ?? input.suggested ?? '').trim()
  if (text === '' && input.required)
    throw new AppError('INPUT_INVALID', `input: the choice ${id} needs a text (${input.name}: ${input.label})`)
  return text
}

const listed = (text: string): string[] =>
  text.split(/[,\n]/).flatMap((part) => (part.trim() === '' ? [] : [part.trim()]))

interface Asked {
  context: Context
  question: Escalation
  /** The task that the choice is for; null = the goal as a whole. */
  taskId: string | null
  by: string | undefined
  seen: string | undefined
}

/** Resumes the goal if it paused for this question. A goal that a person paused stays paused. */
const resumeAsked = async (tx: Queryable, { goalId, happened, question }: Escalation): Promise<void> => {
  const goal = await goalNamed(tx, goalId)
  if (goal.state === 'paused' && [happened, question].includes(goal.reason))
    movedOrThrow(await moveGoal(tx, goal, 'resumed', 'a question was answered'))
}

type Before = (tx: Queryable, task: Task) => Promise<Task>

/** The task of which a question of a goal is answered by a choice about one task. */
const taskOf = (choice: Choice): string | null => ('task' in choice ? (choice.task ?? null) : null)

const retryAsked = async (
  { context, question, taskId, by }: Asked,
  choice: ChoiceKind,
  more: { hint?: string; before?: Before; last?: (tx: Queryable) => Promise<void> } = {},
): Promise<void> => {
  if (taskId === null) return void (await retryGoal(context, question.goalId))
  const { before, ...rest } = more
  await retryTask(context, taskId, {
    ...{ by, choice, ...rest },
    before: async (tx, task) => {
      refuseDecided(await questionNamed(tx, question.id))
      return (await before?.(tx, task)) ?? task
    },
    after: async (tx) => {
      // A question about the goal is not the one that the retry of a task answers.
      if (question.taskId === null)
        movedOrThrow(await answerEscalation(tx, await questionNamed(tx, question.id), choice))
      await resumeAsked(tx, question)
    },
  })
}

/** Changes and retries the task in one transaction, so that a second answer at the same time changes nothing. */
const retryWithEdit = (
  asked: Asked,
  choice: ChoiceKind,
  change: (task: Task) => Parameters<typeof editBeforeRetry>[3],
) =>
  retryAsked(asked, choice, {
    before: (tx, task) => editBeforeRetry(asked.context, tx, task, change(withEdit(task))),
  })

const allow = (asked: Asked, choice: Extract<Choice, { kind: 'allow_command' | 'allow_directory' }>): Promise<void> =>
  retryAsked(asked, choice.kind, {
    before: async (tx, task) => {
      // Without the lock, two answers at the same time would each overwrite the grants of the other.
      await lockGoal(tx, task.goalId)
      const goal = await goalNamed(tx, task.goalId)
      const { grants, allowedDirs } = goal
      if (choice.kind === 'allow_command') {
        const { harness, rule } = choice
        const known = grants.some((grant) => grant.harness === harness && grant.rule === rule)
        await allowInGoal(tx, { ...goal, grants: known ? grants : [...grants, { harness, rule }] })
      } else await allowInGoal(tx, { ...goal, allowedDirs: [...new Set([...allowedDirs, choice.directory])] })
      return task
    },
  })

const cancelAsked = async ({ context, question }: Asked, cancelRunning: CancelRunning): Promise<void> => {
  if (question.taskId === null) {
    await cancelGoal(context, question.goalId, cancelRunning)
    return
  }
  await cancelTask(context, question.taskId, cancelRunning, async (tx) => {
    // The end of the run has closed the question of its agent.
    if (question.kind !== 'agent_question') refuseDecided(await questionNamed(tx, question.id))
  })
  await commandTransaction(context, (tx) => resumeAsked(tx, question))
  context.wake()
}

type Changing = Extract<Choice, { kind: 'widen' | 'leave_out' | 'edit' | 'change_check' }>

/** Removable paths that the person did not name: who allows one of two files leaves the other out, or is asked about it again. */
const removableBut = ({ choices }: Escalation, named: readonly string[]): string[] => {
  const covers = named.flatMap((path) => {
    const parsed = parsePathRule(path)
    return parsed.ok ? [pathMatcher(parsed.rule)] : []
  })
  const removable = choices.flatMap((choice) => (choice.kind === 'leave_out' ? choice.paths : []))
  return removable.filter((path) => !covers.some((matches) => matches(path)))
}

/** Choices that change the task before its retry. */
const retryChanged = (asked: Asked, choice: Changing, text: string): Promise<void> => {
  const { context, question, by } = asked
  switch (choice.kind) {
    case 'widen': {
      // The suggestion is not split again: a file name may hold a comma.
      const all = text === choice.input?.suggested
      const paths = all ? choice.paths : listed(text)
      const others = all ? [] : removableBut(question, paths)
      return retryAsked(asked, 'widen', {
        before: async (tx, task) => {
          const granted = await grantInAnswer(context, tx, task, { paths, question: question.id, by })
          return others.length === 0 ? granted : leavePathsOut(context, tx, granted, others)
        },
      })
    }
    case 'leave_out':
      return retryAsked(asked, 'leave_out', { before: (tx, task) => leavePathsOut(context, tx, task, choice.paths) })
    case 'edit':
      return retryWithEdit(asked, 'edit', () => ({
        fields: { instructions: text },
        ...{ why: 'a person changed the instructions', by },
      }))
    case 'change_check':
      return retryWithEdit(asked, 'change_check', ({ commands }) => ({
        fields: {
          commands: commands.includes(choice.check)
            ? commands.map((command) => (command === choice.check ? text : command))
            : [...commands, text],
        },
        ...{ why: 'a person changed the check', by },
      }))
  }
}

const answerAboutProposal = async (asked: Asked, choice: ProposalChoice, text: string): Promise<void> => {
  const { context, question, by, seen } = asked
  const answer = { choice, question, text, by }
  await checkProposalAnswer(context, answer)
  const hint = await rejectionHint(context, answer)
  return retryAsked(asked, choice.kind, {
    ...defined({ hint }),
    before: async (tx, task) => {
      await answerProposal(context, tx, answer)
      return task
    },
    last: async (tx) => {
      if (choice.kind === 'approve_always') await approveAlways(context, tx, { proposal: choice.proposal, seen })
    },
  })
}

/** The question is about finished work. */
const decideAboutWork = async (
  { context, question, by }: Asked,
  kind: 'approve' | 'reject' | 'ask_again',
  text: string,
): Promise<void> => {
  const task = question.taskId ?? ''
  // Another question may be about other work.
  const seen = { question: question.id }
  if (kind === 'approve') await approveTask(context, task, { by, ...seen })
  else if (kind === 'reject') await rejectTask(context, task, { note: text, by, ...seen })
  else await askReviewerAgain(context, task, seen)
}

/** A list of the owner's configuration has these entries from now on. */
const listAndRetry = (asked: Asked, choice: ChoiceKind, key: ListKey, values: readonly string[]): Promise<void> =>
  retryAsked(asked, choice, {
    last: async () => {
      for (const value of values) {
        const entry = { key, value }
        addEntry(asked.context, entry, plannedEntry(asked.context, entry))
      }
    },
  })

/** The task is retried on a commit of the person. */
const retryOnFix = (asked: Asked): Promise<void> =>
  retryAsked(asked, 'commit_fix', {
    before: async (tx, task) => {
      // The goal branch must be rebased onto the commit of the person. Direct mode has no goal branch.
      const goal = await getGoal(tx, task.goalId)
      if (goal?.repoMode !== 'direct' && goal?.targetBranch != null)
        await progressGoal(tx, task.goalId, { landing: { outdated: true } })
      return task
    },
  })

const carryOut = async (
  asked: Asked,
  { choice, text, cancelRunning }: { choice: Choice; text: string; cancelRunning: CancelRunning },
): Promise<void> => {
  const { context, question, by } = asked
  if (isAsideChoice(choice)) return answerAside(context, question, choice, { text, by })
  switch (choice.kind) {
    case 'widen':
    case 'leave_out':
    case 'edit':
    case 'change_check':
      return retryChanged(asked, choice, text)
    case 'allow_command':
    case 'allow_directory':
      return allow(asked, choice)
    case 'copy_files':
      return listAndRetry(asked, 'copy_files', 'workspace.copy', choice.paths)
    case 'run_filters':
      return listAndRetry(asked, 'run_filters', 'workspace.filters', choice.filters)
    case 'commit_fix':
      return retryOnFix(asked)
    case 'hint':
      return retryAsked(asked, 'hint', { hint: text })
    case 'reply':
      return (await replyToAgent(context, question, text)) ? undefined : retryAsked(asked, 'reply', { hint: text })
    case 'retry':
      if (question.kind === 'budget')
        // The limit applies to the whole goal and would stop the next attempt at once, so the spend is reset.
        return retryAsked(asked, 'retry', {
          before: async (tx, task) => {
            await resetGoalSpend(tx, task.goalId)
            return task
          },
        })
      return choice.input === null
        ? retryAsked(asked, 'retry')
        : retryWithEdit(asked, 'retry', () => ({ fields: { model: text }, why: 'a person chose the model', by }))
    case 'approve_recovery':
    case 'approve_always':
    case 'edit_recovery':
    case 'reject_recovery':
    case 'resolve_recovery':
      return answerAboutProposal(asked, choice, text)
    case 'take_over':
      return void (await takeOverTask(context, question.taskId ?? '', { by }))
    case 'approve':
    case 'reject':
    case 'ask_again':
      return decideAboutWork(asked, choice.kind, text)
    case 'resume':
      await resumeGoals(context, question.goalId)
      return undefined
    case 'cancel':
      return cancelAsked(asked, cancelRunning)
  }
}

/** Returns the question after the answer. Throws `STALE` if it is already decided, `INPUT_INVALID` for a wrong choice or text. */
export const answerQuestion = async (
  context: Context,
  { id, choice: chosen, input, by, seen }: Answer,
  cancelRunning: CancelRunning,
): Promise<Answered> => {
  const question = await questionNamed(context.db, id)
  refuseDecided(question)
  const choice = choiceNamed(question, chosen)
  const text = inputOf(choice, input)
  try {
    await carryOut(
      { context, question, taskId: question.taskId ?? taskOf(choice), by, seen },
      { choice, text, cancelRunning },
    )
  } catch (error) {
    // Of two answers at the same time, the second finds the task changed. It should report that the question is decided.
    if (error instanceof AppError && (error.code === 'ILLEGAL' || error.code === 'STALE'))
      refuseDecided(await questionNamed(context.db, id))
    throw error
  }
  const task = choice.kind === 'take_over' ? await getTask(context.db, question.taskId ?? '') : undefined
  return { ...(await questionNamed(context.db, id)), line: task?.takenOver?.command ?? null }
}
