import { type FocusEvent, type KeyboardEvent, useLayoutEffect, useRef } from 'react'

/** Overlays inside a group handle their keys themselves. */
const overlays = 'dialog, [popover]'

/**
 * Makes the controls of a group one tab stop. The Tab key moves to the control of the group that had the focus last. The
 * arrow keys, Home and End move between the controls. `selector` selects the controls. In a vertical group, the arrows up
 * and down move the focus, otherwise the arrows left and right.
 */
export function useRovingFocus<Group extends HTMLElement>(selector: string, isVertical = false) {
  const group = useRef<Group>(null)
  const current = useRef<HTMLElement>(undefined)
  const controls = () =>
    [...(group.current?.querySelectorAll<HTMLElement>(selector) ?? [])].filter(
      (control) => control.closest(overlays) === null,
    )
  const update = () => {
    const all = controls()
    const stop = all.find((control) => control === current.current) ?? all[0]
    // The attribute is compared, because a custom element without it has the property -1 but is still a tab stop.
    for (const control of all) {
      const tabIndex = control === stop ? '0' : '-1'
      if (control.getAttribute('tabindex') !== tabIndex) control.setAttribute('tabindex', tabIndex)
    }
  }
  const latest = useRef(update)
  latest.current = update
  useLayoutEffect(() => {
    const watched = group.current
    if (watched === null) return
    latest.current()
    const observer = new MutationObserver(() => latest.current())
    observer.observe(watched, { childList: true, subtree: true })
    return () => observer.disconnect()
  }, [])
  const onFocus = ({ target }: FocusEvent) => {
    const focused = controls().find((control) => control.contains(target))
    if (focused === undefined) return
    current.current = focused
    update()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement
    if (event.defaultPrevented || hasModifier(event) || target.closest(overlays) !== null) return
    const all = controls()
    const at = all.findIndex((control) => control.contains(target))
    const next = at === -1 ? undefined : nextControl(all, at, { key: event.key, isVertical })
    // The browser uses Home and End to move between the options of a list.
    if (next === undefined || (target.tagName === 'SELECT' && !event.key.startsWith('Arrow'))) return
    event.preventDefault()
    next.focus()
  }
  return { ref: group, onFocus, onKeyDown }
}

function hasModifier({ shiftKey, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return shiftKey || ctrlKey || metaKey || altKey
}

type Move = { key: string; isVertical: boolean }

function nextControl(controls: readonly HTMLElement[], at: number, { key, isVertical }: Move): HTMLElement | undefined {
  const last = controls.length - 1
  const moves: Record<string, number> = {
    [isVertical ? 'ArrowDown' : 'ArrowRight']: Math.min(at + 1, last),
    [isVertical ? 'ArrowUp' : 'ArrowLeft']: Math.max(at - 1, 0),
    Home: 0,
    End: last,
  }
  const to = moves[key]
  return to === undefined ? undefined : controls[to]
}
