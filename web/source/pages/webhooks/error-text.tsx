import { useText } from '../../app/language/language-context.tsx'
import { firstSentence } from '../../app/language/link-message.ts'
import { webhookMessages } from './messages.ts'
import { causeOf } from './plain-error.ts'

type ErrorTextProps = {
  error: string
  /** Whether to leave out the advice after the first sentence, for narrow columns. */
  isShort?: boolean
}

/** `ErrorText` shows the last error of a subscription in words. The tooltip contains the error of the attempt. */
export function ErrorText({ error, isShort = false }: ErrorTextProps) {
  const text = useText(webhookMessages)
  const found = causeOf(error)
  if (found === undefined)
    return (
      <span lang="en" title={error}>
        {isShort ? firstSentence(error) : error}
      </span>
    )
  const { cause, status } = found
  return (
    <span title={error}>
      {text[cause]}
      {status !== undefined && ` (${status})`}
    </span>
  )
}
