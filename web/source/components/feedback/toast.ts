import { showToast } from '@siemens/ix-react'
import { announce } from './announcement.ts'

/**
 * Shows a success message for a few seconds. Toasts have no icon, because the icon of the library has no alternative
 * text.
 */
export function showSuccess(message: string): void {
  announce(message)
  showToast({ message, type: 'success', hideIcon: true, autoCloseDelay: 4_000 })
}

/** Shows for a longer time that an action was completed only in part. */
export function showWarning(message: string): void {
  announce(message)
  showToast({ message, type: 'warning', hideIcon: true, autoCloseDelay: 10_000 })
}

/** Shows the error message of an action for which the page has no place to show errors. */
export function showError(message: string): void {
  announce(message)
  showToast({ message, type: 'error', hideIcon: true, autoCloseDelay: 10_000 })
}
