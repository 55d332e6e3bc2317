import { Link } from '@tanstack/react-router'
import { locationOf } from '../../app/navigation/subject-location.ts'

/** Something by its kind and id, as a way to its page where it has one. */
export function SubjectLink({ subject }: { subject: string }) {
  const place = locationOf(subject)
  if (place === undefined) return <code>{subject}</code>
  return (
    <Link to={place.to} {...(place.search && { search: place.search as never })}>
      <code>{subject}</code>
    </Link>
  )
}
