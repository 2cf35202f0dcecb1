/** The choices of a question, each a button with its effect and, where it takes one, its text. */
import { useId, useState, type FormEvent } from 'react'
import { answerTo, useAction, type Action } from '../data/actions.ts'
import type { Question } from '../logic/board.ts'
import { inTerminal, type Choice } from '../logic/questions.ts'
import { visible } from '../logic/text.ts'
import { Confirm } from './actions.tsx'
import { Command, Said } from './basics.tsx'

interface InputProps {
  input: NonNullable<Choice['input']>
  said: string
  say: (text: string) => void
  disabled: boolean
}

const Input = ({ input, said, say, disabled }: InputProps) => (
  <label className="field">
    <Said text={input.label} />
    <input
      type="text"
      value={said}
      maxLength={1000}
      required={input.required}
      disabled={disabled}
      onChange={({ target }) => say(target.value)}
    />
  </label>
)

interface OneProps {
  choice: Choice
  /** One main button is a proposal, two are none. */
  main: boolean
  disabled: boolean
  choose: (said: string) => void
}

const toneOf = ({ kind }: Choice, main: boolean): string => {
  if (kind === 'cancel') return 'danger'
  return main ? 'main' : ''
}

const One = ({ choice, main, disabled, choose }: OneProps) => {
  const [said, say] = useState(choice.input?.suggested ?? '')
  const effect = useId()
  const send = (event: FormEvent): void => {
    event.preventDefault()
    choose(said)
  }
  return (
    <li>
      <form className="choice" onSubmit={send}>
        {choice.input !== null && <Input input={choice.input} said={said} say={say} disabled={disabled} />}
        {/* A take-over happens in a terminal; a button could do nothing. */}
        {choice.kind !== 'take_over' && (
          <button type="submit" className={toneOf(choice, main)} disabled={disabled} aria-describedby={effect}>
            {visible(choice.label)}
          </button>
        )}
        <p id={effect} className="effect">
          {choice.kind === 'take_over' && (
            <strong>
              <Said text={choice.label} />:{' '}
            </strong>
          )}
          <Said text={choice.effect} />
        </p>
        {inTerminal(choice) && choice.command !== '' && <Command text={visible(choice.command)} />}
      </form>
    </li>
  )
}

export const Choices = ({ question }: { question: Question }) => {
  const [asked, setAsked] = useState<Action>()
  const { mutate, isPending, error } = useAction()
  const choose = (choice: Choice, said: string): void => {
    const action = answerTo(question, choice, said)
    if (action.confirm === undefined) mutate(action)
    else setAsked(action)
  }
  return (
    <>
      <ul className="choices" aria-label="What you can do">
        {question.choices.map((choice, index) => (
          <One
            key={choice.id}
            choice={choice}
            main={index === 0}
            disabled={isPending}
            choose={(said) => choose(choice, said)}
          />
        ))}
      </ul>
      {error !== null && (
        <p role="alert" className="refused">
          {error.message}
        </p>
      )}
      {asked !== undefined && (
        <Confirm
          action={asked}
          answer={(sure) => {
            setAsked(undefined)
            if (sure) mutate(asked)
          }}
        />
      )}
    </>
  )
}
