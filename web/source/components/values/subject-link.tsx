import { Link } from '@tanstack/react-router'
import { locationOf } from '../../app/navigation/subject-location.ts'

/** `SubjectLink` shows `kind/id` and links to the page of the entity if there is one. */
export function SubjectLink({ subject }: { subject: string }) {
  const place = locationOf(subject)
  if (place === undefined) return <code>{subject}</code>
  return (
    <Link to={place.to} {...(place.search && { search: place.search as never })}>
      <code>{subject}</code>
    </Link>
  )
}
