import type { AnyJob } from '@millwright/api/jobs.ts'
import { workflowName, type workflowNames } from '../workflows/workflow-names.ts'
import type { jobMessages } from './messages.ts'

type NamedJob = Pick<AnyJob, 'type' | 'subject' | 'scan'>

type NameTexts = { text: (typeof jobMessages)['en']; names: (typeof workflowNames)['en'] }

/** Returns what a job does and for what, for example "Scan: Simulated plant, 10.0.0.0/25". */
export function jobNameOf(job: NamedJob, { text, names }: NameTexts): string {
  const work = workflowName(job.type, names)
  const subject = subjectNameOf(job, text)
  return subject === undefined ? work : text.what(work, subject)
}

/** Returns the name of the subject of a job, or undefined if it has none. The name of a scan ends with its scope. */
export function subjectNameOf({ subject, scan }: Pick<NamedJob, 'subject' | 'scan'>, text: NameTexts['text']) {
  if (subject?.name === undefined || scan === undefined) return subject?.name
  return `${subject.name}, ${scan.scope.join(', ') || text.allDevices}`
}
