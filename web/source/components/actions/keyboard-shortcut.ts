import { useEffect, useEffectEvent } from 'react'

/**
 * Runs an action when the user presses a key combination. `Mod+k` means Ctrl+K or Command+K. A key without a modifier
 * has no effect while the user types in a field or a dialog is open.
 */
export function useKeyboardShortcut(keys: string, act: () => void): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (!isPressed(event, keys)) return
    event.preventDefault()
    act()
  })
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event)
    addEventListener('keydown', listener)
    return () => removeEventListener('keydown', listener)
  }, [])
}

function isPressed(event: KeyboardEvent, keys: string): boolean {
  const parts = keys.split('+')
  const needsModifier = parts.includes('Mod')
  if (!needsModifier && (isTyping(event) || document.querySelector('dialog[open]') !== null)) return false
  return (event.ctrlKey || event.metaKey) === needsModifier && event.key.toLowerCase() === parts.at(-1)?.toLowerCase()
}

function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath()
  const fields = 'input:not([type="checkbox"]), textarea, select, [contenteditable="true"]'
  return target instanceof Element && target.closest(fields) !== null
}
