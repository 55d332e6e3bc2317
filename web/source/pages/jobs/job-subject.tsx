import type { AnyJob } from '@millwright/api/jobs.ts'
import { Link } from '@tanstack/react-router'
import { useText } from '../../app/language/language-context.tsx'
import { locationOf } from '../../app/navigation/subject-location.ts'
import { subjectNameOf } from './job-name.ts'
import { jobMessages } from './messages.ts'

type Text = (typeof jobMessages)['en']

/** `JobSubjectLink` names what a job is about, with a link to its page. */
export function JobSubjectLink({ job }: { job: Pick<AnyJob, 'subject' | 'scan'> }) {
  const text = useText(jobMessages)
  const { subject } = job
  if (subject === undefined) return <span className="quiet">–</span>
  const place = locationOf(subject.reference)
  const name = subjectNameOf(job, text) ?? nameOf(subject.reference, text)
  if (place === undefined || name === text.unnamed) return name
  return (
    <Link to={place.to} title={name} {...(place.search && { search: place.search as never })}>
      {name}
    </Link>
  )
}

/** Returns the text for a subject without a name. */
function nameOf(reference: string, text: Text): string {
  const kind = reference.split('/')[0]
  if (kind === 'discovery') return text.toScan
  if (kind === 'export') return text.toExports
  if (kind === 'import') return text.toImport
  return text.unnamed
}
