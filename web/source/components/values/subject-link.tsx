import { Link } from '@tanstack/react-router'
import { locationOf } from '../../app/navigation/subject-location.ts'

/**
 * `SubjectLink` shows the reference to an entity, in the form `kind/id`. If the entity has a page, the reference links
 * to that page.
 */
export function SubjectLink({ subject }: { subject: string }) {
  const place = locationOf(subject)
  if (place === undefined) return <code>{subject}</code>
  return (
    <Link to={place.to} {...(place.search && { search: place.search as never })}>
      <code>{subject}</code>
    </Link>
  )
}
