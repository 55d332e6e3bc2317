import type { AnyJob } from '@millwright/api/jobs.ts'
import { Link } from '@tanstack/react-router'
import { useText } from '../../app/language/language-context.tsx'
import { locationOf } from '../../app/navigation/subject-location.ts'
import { CutText } from '../../components/values/cut-text.tsx'
import { jobMessages } from './messages.ts'

type Text = (typeof jobMessages)['en']

type JobSubjectLinkProps = {
  job: Pick<AnyJob, 'subject' | 'scan'>
  /** Whether a long name is cut in its middle, for tables. */
  isCut?: boolean
}

/** `JobSubjectLink` names what a job is about, with a link to its page. A scan is named with its scope. */
export function JobSubjectLink({ job, isCut = false }: JobSubjectLinkProps) {
  const text = useText(jobMessages)
  const { subject } = job
  if (subject === undefined) return <span className="quiet">–</span>
  const place = locationOf(subject.reference)
  const name = subjectNameOf(job, text) ?? nameOf(subject.reference, text)
  if (place === undefined || name === text.unnamed) return name
  return (
    <Link to={place.to} title={name} {...(place.search && { search: place.search as never })}>
      {isCut ? <CutText text={name} /> : name}
    </Link>
  )
}

/** Returns the name of the subject of a job, or undefined if it has none. The name of a scan ends with its scope. */
export function subjectNameOf({ subject, scan }: Pick<AnyJob, 'subject' | 'scan'>, text: Text): string | undefined {
  if (subject?.name === undefined || scan === undefined) return subject?.name
  return text.what(subject.name, scan.scope.join(', ') || text.allDevices)
}

/** Returns the text for a subject without a name. */
function nameOf(reference: string, text: Text): string {
  const kind = reference.split('/')[0]
  if (kind === 'discovery') return text.toScan
  if (kind === 'export') return text.toExports
  if (kind === 'import') return text.toImport
  return text.unnamed
}
