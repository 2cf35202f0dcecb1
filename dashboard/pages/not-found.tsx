/** For an address without a page. */
import { linkTo } from '../logic/route.ts'
import { SafeText } from '../parts/basics.tsx'

export const NotFound = ({ what }: { what: string }) => (
  <section className="empty-state">
    <h1>Not found</h1>
    <p>
      There is no <SafeText text={what} />. It may have been removed, or it belongs to another repository.
    </p>
    <p>
      <a href={linkTo.now}>Back to the first page</a>
    </p>
  </section>
)
