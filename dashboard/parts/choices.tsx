/** The choices of a question: a button with its effect each, and a text field where the choice takes a text. */
import { useId, useState, type FormEvent } from 'react'
import { useMutation } from '@tanstack/react-query'
import { answerTo, previewed, useAction, type PageAction, type Report } from '../data/actions.ts'
import type { BoardQuestion } from '../logic/board.ts'
import { inTerminal, type QuestionChoice } from '../logic/questions.ts'
import { visible } from '../logic/text.ts'
import { Confirm } from './actions.tsx'
import { CommandLine, SafeText } from './basics.tsx'

interface InputProps {
  input: NonNullable<QuestionChoice['input']>
  written: string
  write: (text: string) => void
  disabled: boolean
}

const Input = ({ input, written, write, disabled }: InputProps) => (
  <label className="field">
    <SafeText text={input.label} />
    <input
      type="text"
      value={written}
      maxLength={1000}
      required={input.required}
      disabled={disabled}
      onChange={({ target }) => write(target.value)}
    />
  </label>
)

interface OneProps {
  choice: QuestionChoice
  /** Only one choice of a question may stand out. */
  main: boolean
  disabled: boolean
  /** The key that leads to it; see data/inbox-keys.ts. */
  digit: number | undefined
  choose: (written: string) => void
}

const toneOf = ({ kind }: QuestionChoice, main: boolean): string => {
  if (kind === 'cancel') return 'danger'
  return main ? 'main' : ''
}

const One = ({ choice, main, disabled, digit, choose }: OneProps) => {
  const [written, write] = useState(choice.input?.suggested ?? '')
  const effect = useId()
  const send = (event: FormEvent): void => {
    event.preventDefault()
    choose(written)
  }
  return (
    <li>
      <form className="choice" onSubmit={send} data-digit={digit}>
        {choice.input !== null && <Input input={choice.input} written={written} write={write} disabled={disabled} />}
        <button
          type="submit"
          className={toneOf(choice, main)}
          disabled={disabled}
          aria-describedby={effect}
          aria-keyshortcuts={digit?.toString()}
        >
          {digit !== undefined && <kbd aria-hidden="true">{digit}</kbd>} {visible(choice.label)}
        </button>
        <p id={effect} className="effect">
          <SafeText text={choice.effect} />
        </p>
        {inTerminal(choice) && choice.command !== '' && <CommandLine text={visible(choice.command)} />}
      </form>
    </li>
  )
}

/** Each choice has a digit as its key, as in the terminal. */
const mostDigits = 9

interface ChoicesProps {
  choices: readonly QuestionChoice[]
  actionFor: (choice: QuestionChoice, written: string) => PageAction
  /** Shows the digits. */
  numbered?: boolean
  report?: Report
}

/** Choices with what carries them out. */
export const ChoiceList = ({ choices, actionFor, numbered = false, report }: ChoicesProps) => {
  const [unconfirmed, setUnconfirmed] = useState<PageAction>()
  const { mutate, isPending, error } = useAction(report)
  const preview = useMutation({
    mutationFn: previewed,
    onSuccess: setUnconfirmed,
    onError: (problem, action) => report?.(action, { error: problem }),
  })
  const problem = error ?? preview.error
  const choose = (choice: QuestionChoice, written: string): void => {
    const action = actionFor(choice, written)
    if (action.preview !== undefined) preview.mutate(action)
    else if (action.confirm === undefined) mutate(action)
    else setUnconfirmed(action)
  }
  return (
    <>
      <ul className="choices" aria-label="What you can do">
        {choices.map((choice, index) => (
          <One
            key={choice.id}
            choice={choice}
            main={index === 0}
            disabled={isPending}
            digit={numbered && index < mostDigits ? index + 1 : undefined}
            choose={(written) => choose(choice, written)}
          />
        ))}
      </ul>
      {problem !== null && report === undefined && (
        <p role="alert" className="refused">
          {problem.message}
        </p>
      )}
      {unconfirmed !== undefined && (
        <Confirm
          action={unconfirmed}
          decide={(sure) => {
            setUnconfirmed(undefined)
            if (sure) mutate(unconfirmed)
          }}
        />
      )}
    </>
  )
}

export const Choices = ({ question }: { question: BoardQuestion }) => (
  <ChoiceList choices={question.choices} actionFor={(choice, written) => answerTo(question, choice, written)} />
)
