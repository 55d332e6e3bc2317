import { useText } from '../../app/language/language-context.tsx'
import { showError } from '../feedback/toast.ts'
import { componentMessages } from '../messages.ts'

/**
 * Returns a function that copies a text to the clipboard, and returns whether it was copied. Browsers allow it only in a
 * secure context and with the permission of the user. Otherwise the function shows an error.
 */
export function useCopy(): (value: string) => Promise<boolean> {
  const text = useText(componentMessages)
  return async (value) => {
    try {
      await navigator.clipboard.writeText(value)
      return true
    } catch {
      showError(text.copyDenied)
      return false
    }
  }
}
