/** All repositories of the reader: what needs them, what moves, and a way to each. */
import { useState } from 'react'
import { visitRepository } from '../data/actions.ts'
import { isRequestFailure } from '../data/client.ts'
import { useRepositories } from '../data/queries.ts'
import { byUrgency, shortName, wordOf, type RepositoryRow } from '../logic/repositories.ts'
import { linkTo } from '../logic/route.ts'
import { CommandLine, Loading, SafeText } from '../parts/basics.tsx'

const Name = ({ repository, fail }: { repository: RepositoryRow; fail: (text: string) => void }) => {
  const name = <SafeText text={shortName(repository)} />
  if (repository.isHere)
    return (
      <a href={linkTo.now} data-open="" aria-current="true">
        {name}
      </a>
    )
  if (repository.url === null) return <strong>{name}</strong>
  const visit = (): void =>
    void visitRepository(repository.id).then(
      (url) => location.assign(url),
      (error: unknown) => fail(isRequestFailure(error) ? error.message : String(error)),
    )
  return (
    <button type="button" className="link" data-open="" onClick={visit}>
      {name}
    </button>
  )
}

interface AmountProps {
  value: number | undefined
  /** As in the head of the column, which a narrow page leaves out. */
  name: string
  tone?: string
}

const Amount = ({ value, name, tone = '' }: AmountProps) => (
  <td className={`amount ${value === undefined ? 'unknown' : value > 0 ? tone : 'quiet'}`} data-name={name}>
    {value ?? '–'}
  </td>
)

const Row = ({ repository, fail }: { repository: RepositoryRow; fail: (text: string) => void }) => {
  const { counts, problem } = repository
  const { word, tone } = wordOf(repository)
  return (
    <tr data-row="">
      <th scope="row">
        <Name repository={repository} fail={fail} />
        {repository.isHere && <span className="quiet"> (this page)</span>}
        <span className="place quiet">
          <SafeText text={repository.repository} />
        </span>
        {problem !== null && (
          <span className={tone === 'bad' ? 'problem' : 'problem quiet'}>
            <SafeText text={problem.message} />
          </span>
        )}
      </th>
      <Amount value={counts?.questions} name="need you" tone="bad" />
      <Amount value={counts?.running} name="running" tone="busy" />
      <Amount value={counts?.goals} name="open" />
      <td>
        <span className={`state ${tone}`}>{word}</span>
      </td>
    </tr>
  )
}

const Shared = () => (
  <details className="panel">
    <summary>One engine for all of them</summary>
    <p>
      Repositories with engines of their own do not know each other. One engine that serves all of them needs less
      memory, and shows here what waits in each:
    </p>
    <CommandLine text="unstuck up --all" />
  </details>
)

export const RepositoriesPage = () => {
  const { data, error } = useRepositories()
  const [failure, setFailure] = useState('')
  if (data === undefined)
    return error === null ? <Loading what="the repositories" /> : <p role="alert">{error.message}</p>
  const unknown = data.some(({ isHere, state }) => !isHere && state !== 'served')
  const isShared = data.some(({ isHere, state }) => !isHere && state === 'served')
  return (
    <div className="repositories">
      <h1>Repositories</h1>
      {failure !== '' && (
        <p className="notice" role="alert">
          <SafeText text={failure} />
        </p>
      )}
      <div className="table-frame">
        <table className="figures">
          <thead>
            <tr>
              <th scope="col">Repository</th>
              <th scope="col" className="amount">
                Need you
              </th>
              <th scope="col" className="amount">
                Running
              </th>
              <th scope="col" className="amount">
                Open goals
              </th>
              <th scope="col">Engine</th>
            </tr>
          </thead>
          <tbody>
            {byUrgency(data).map((repository) => (
              <Row key={repository.id} repository={repository} fail={setFailure} />
            ))}
          </tbody>
        </table>
      </div>
      {unknown && !isShared && <Shared />}
    </div>
  )
}
