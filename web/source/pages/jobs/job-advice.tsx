import type { AnyJob } from '@millwright/api/jobs.ts'
import { iconError, iconWarning } from '@siemens/ix-icons/icons'
import { Link } from '@tanstack/react-router'
import { useFormats } from '../../app/language/language-context.tsx'
import { Icon } from '../../components/values/icon.tsx'
import { errorsOf } from './job-errors.ts'
import { adviceOf, resultOf } from './job-result.ts'
import { useOutcomeText } from './outcome-text.ts'

/**
 * `JobAdvice` shows why a job failed or which errors it finished with, what the user can do, and a link to the page on which
 * to do it. It shows nothing for other jobs, and for a finished scan, because the page of the scan lists the errors with their remedies.
 */
export function JobAdvice({ job }: { job: AnyJob }) {
  const outcome = useOutcomeText()
  const formats = useFormats()
  const { text } = outcome
  const errors = errorsOf(job)
  if (job.phase !== 'failed' && (errors === undefined || job.scan !== undefined)) return null
  const advice = adviceOf(job, outcome)
  const title = titleOf()
  const { to, search } = errors ?? advice
  function titleOf(): string {
    if (errors === undefined) return resultOf(job, outcome)
    const { kind, count } = errors
    return kind === 'unchecked'
      ? text.uncheckedTitle(count, formats.number(count))
      : text.finishedWithErrors(count, formats.number(count))
  }
  return (
    <section
      className="notice"
      data-tone={errors === undefined ? 'bad' : 'warning'}
      aria-label={errors === undefined ? text.failedTitle : text.errorsTitle}
    >
      <Icon name={errors === undefined ? iconError : iconWarning} />
      <div>
        <p className="notice-title">{title}</p>
        <p>
          <strong>{text.whatToDo}:</strong> {errors === undefined ? advice.text : outcome.errorAdvices[kindOf(job)]}
        </p>
        <div className="notice-actions">
          <Link to={to} {...(search && { search: search as never })}>
            {errors === undefined ? advice.label : errors.kind === 'unchecked' ? text.toMonitoring : text.showErrors}
          </Link>
        </div>
      </div>
    </section>
  )
}

function kindOf({ type }: AnyJob): 'rows' | 'checks' | 'devices' {
  if (type === 'monitoring') return 'checks'
  return type === 'file-import' ? 'rows' : 'devices'
}
