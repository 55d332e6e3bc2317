import { iconError } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { consoleCodes, type Failure, failureOf } from '../../app/api/failure.ts'
import type { Language } from '../../app/language/language.ts'
import { useFormats, useLanguage, useText } from '../../app/language/language-context.tsx'
import { componentMessages } from '../messages.ts'
import { Icon } from '../values/icon.tsx'
import { problemTitle } from './problem-titles.ts'

type ProblemMessageProps = {
  failure: unknown
  /** The title in this place, if it is clearer for the user than the general title of the failure. */
  title?: string | undefined
  onRetry?: (() => void) | undefined
}

/** `ProblemMessage` shows the title, detail and code of a failure, and a retry button if `onRetry` is given. */
export function ProblemMessage({ failure, onRetry, ...props }: ProblemMessageProps) {
  const text = useText(componentMessages)
  const formats = useFormats()
  const language = useLanguage()
  const problem = failureOf(failure)
  const { code, traceId, retryAfterSeconds } = problem
  const errors = listedErrors(problem)
  const { title, detail, detailLanguage } = translate(problem, text, language)
  return (
    <div className="problem" role="alert">
      <Icon name={iconError} />
      <div className="problem-body">
        <p className="problem-title">{props.title ?? title}</p>
        {detail !== undefined && !errors.some((error) => error.detail === problem.message) && (
          <p lang={detailLanguage}>{sentence(detail)}</p>
        )}
        {errors.length > 0 && (
          <ul>
            {errors.map((error) => (
              <li key={`${error.pointer}${error.detail}`} lang="en">
                {sentence(error.detail)}
              </li>
            ))}
          </ul>
        )}
        {retryAfterSeconds !== undefined && <p>{text.retryIn(formats.duration(retryAfterSeconds * 1000))}</p>}
        <p className="problem-code">
          {text.code} <ProblemCode code={code} />
          {traceId !== undefined && (
            <>
              , {text.trace} <code>{traceId}</code>
            </>
          )}
        </p>
        {onRetry !== undefined && (
          <IxButton variant="secondary" onClick={onRetry}>
            {text.retry}
          </IxButton>
        )}
      </div>
    </div>
  )
}

/** Returns the errors to list below the detail. A single error with the same text as the detail is left out. */
function listedErrors({ errors, message }: Failure): Failure['errors'] {
  return errors.length === 1 && errors[0]?.detail === message ? [] : errors
}

function ProblemCode({ code }: { code: string }) {
  const isOwn = Object.values<string>(consoleCodes).includes(code)
  return isOwn ? (
    <code>{code}</code>
  ) : (
    <a href={`/docs/problems#${code}`}>
      <code>{code}</code>
    </a>
  )
}

type Text = (typeof componentMessages)['en']

/**
 * Returns the title and the detail of a failure in the language of the user. Only the detail of an API problem is
 * always English.
 */
function translate({ title, message, code }: Failure, text: Text, language: Language) {
  if (code === consoleCodes.noAnswer)
    return { title: text.noAnswerTitle, detail: text.noAnswerDetail, detailLanguage: language }
  const name = code === consoleCodes.fault ? text.faultTitle : problemTitle(code, title, language)
  return {
    title: name,
    detail: message === title ? undefined : withoutTitle(message, title),
    detailLanguage: 'en' as const,
  }
}

/** Removes the title from the start of a detail, because the page already shows the title above the detail. */
function withoutTitle(detail: string, title: string): string {
  const rest = detail.startsWith(`${title}: `) ? detail.slice(title.length + 2) : detail
  return rest.charAt(0).toUpperCase() + rest.slice(1)
}

function sentence(words: string): string {
  return /[.!?…]$/.test(words) ? words : `${words}.`
}
