/** One request with several answers. Each is decided on its own, as if it had come alone, so one refusal holds nothing else up. */
import type { Answered } from '../../domain/escalation.ts'
import { AppError } from '../../errors.ts'
import type { Context } from '../core/context.ts'
import { answerQuestion, type Answer } from './answer-question.ts'
import type { CancelRunning } from './commands.ts'

export interface AnswerResult {
  id: string
  /** Null = refused. */
  answered: Answered | null
  error: { code: string; message: string } | null
}

export const answerQuestions = async (
  context: Context,
  answers: readonly Answer[],
  cancelRunning: CancelRunning,
): Promise<AnswerResult[]> => {
  const results: AnswerResult[] = []
  for (const answer of answers)
    try {
      results.push({ id: answer.id, answered: await answerQuestion(context, answer, cancelRunning), error: null })
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      results.push({ id: answer.id, answered: null, error: { code: error.code, message: error.message } })
    }
  return results
}
