/** That other repositories have questions, on the first page of this one. */
import { useRepositories } from '../data/queries.ts'
import { asksElsewhere } from '../logic/repositories.ts'
import { linkTo } from '../logic/route.ts'
import { plural } from '../logic/text.ts'
import { PagePart } from './page-part.tsx'

export const OtherRepositories = () => {
  const all = useRepositories().data ?? []
  const others = all.length - 1
  if (others < 1) return null
  const asks = asksElsewhere(all)
  return (
    <PagePart title="Other repositories" count={others}>
      <ul className="lines">
        <li className="fact-line">
          {asks > 0 && <span className="state bad">{asks === 1 ? '1 question' : `${asks} questions`}</span>}
          <a href={linkTo.repositories}>
            {asks > 0 ? 'See where' : `See ${plural(others, 'other repository', 'other repositories')}`}
          </a>
        </li>
      </ul>
    </PagePart>
  )
}
