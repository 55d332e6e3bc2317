import { showToast } from '@siemens/ix-react'
import { announce } from './announcement.ts'

/** Tells that something was done, without asking for anything. */
export function showSuccess(message: string): void {
  announce(message)
  showToast({ message, type: 'success', hideIcon: true, autoCloseDelay: 4_000 })
}
