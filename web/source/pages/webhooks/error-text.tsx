import { useText } from '../../app/language/language-context.tsx'
import { webhookMessages } from './messages.ts'
import { causeOf } from './plain-error.ts'

/** `ErrorText` shows the last error of a subscription in words. The tooltip contains the error of the attempt. */
export function ErrorText({ error }: { error: string }) {
  const text = useText(webhookMessages)
  const found = causeOf(error)
  if (found === undefined)
    return (
      <span lang="en" title={error}>
        {error}
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
