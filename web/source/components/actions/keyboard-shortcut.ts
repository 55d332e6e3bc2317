import { useEffect, useEffectEvent } from 'react'

/** Runs an action when the user presses a key combination. `Mod+k` means Ctrl+K or Command+K. */
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
  return (event.ctrlKey || event.metaKey) === needsModifier && event.key.toLowerCase() === parts.at(-1)?.toLowerCase()
}
