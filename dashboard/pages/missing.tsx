/** For addresses that lead nowhere. */
import { linkTo } from '../logic/route.ts'
import { Said } from '../parts/basics.tsx'

export const Missing = ({ what }: { what: string }) => (
  <section className="empty-state">
    <h1>Not found</h1>
    <p>
      There is no <Said text={what} />. It may have been cleaned up, or the address is of another repository.
    </p>
    <p>
      <a href={linkTo.board}>To the board</a>
    </p>
  </section>
)
