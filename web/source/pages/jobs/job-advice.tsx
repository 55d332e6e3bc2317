import type { AnyJob } from '@millwright/api/jobs.ts'
import { iconError } from '@siemens/ix-icons/icons'
import { Link } from '@tanstack/react-router'
import { Icon } from '../../components/values/icon.tsx'
import { adviceOf, resultOf } from './job-result.ts'
import { useOutcomeText } from './outcome-text.ts'

/** `JobAdvice` shows why a job failed, what the user can do, and a link to the page on which to do it. */
export function JobAdvice({ job }: { job: AnyJob }) {
  const outcome = useOutcomeText()
  const { text } = outcome
  const advice = adviceOf(job, outcome)
  return (
    <section className="notice" data-tone="bad" aria-label={text.failedTitle}>
      <Icon name={iconError} />
      <div>
        <p className="notice-title">{resultOf(job, outcome)}</p>
        <p>
          <strong>{text.whatToDo}:</strong> {advice.text}
        </p>
        <div className="notice-actions">
          <Link to={advice.to} {...(advice.search && { search: advice.search as never })}>
            {advice.label}
          </Link>
        </div>
      </div>
    </section>
  )
}
