/** A part of a page with a head and a count. */
import { useId, type ReactNode } from 'react'

interface PartProps {
  title: string
  count?: number
  extra?: ReactNode
  children: ReactNode
}

export const PagePart = ({ title, count, extra, children }: PartProps) => {
  const id = useId()
  return (
    <section className="part-of-page" aria-labelledby={id}>
      <div className="part-head">
        <h2 id={id}>
          {title} {count !== undefined && <span className="count">{count}</span>}
        </h2>
        {extra}
      </div>
      {children}
    </section>
  )
}
