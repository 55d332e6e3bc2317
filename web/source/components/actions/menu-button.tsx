import { iconChevronDownSmall } from '@siemens/ix-icons/icons'
import { type KeyboardEvent, type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react'
import { Icon } from '../values/icon.tsx'

export type MenuEntry =
  | { kind: 'item'; label: string; icon?: ReactNode; isDisabled?: boolean; onSelect: () => void }
  | { kind: 'choice'; label: string; isChosen: boolean; onSelect: () => void }
  | { kind: 'heading'; label: string }
  | { kind: 'line' }

type MenuButtonProps = {
  /** The accessible name of the button. It is also the visible text of the button unless `children` is given. */
  label: string
  /** The accessible name, if several buttons of a page have the same label. It starts with the label. */
  name?: string
  /** The visible content of the button. */
  children?: ReactNode
  entries: readonly MenuEntry[]
  /** The content of the menu above the entries. */
  head?: ReactNode
  /** Whether the right edge of the menu is aligned with the right edge of the button. */
  isAtEnd?: boolean
  className?: string
}

/**
 * `MenuButton` is a button that opens a menu. Arrow keys move between the entries, and a letter key moves to the next
 * entry that starts with this letter. Escape closes the menu and returns the focus to the button. The menu is a
 * popover: the browser draws it in the top layer, so that no ancestor with hidden overflow can clip it.
 */
export function MenuButton({
  label,
  name,
  children,
  entries,
  head,
  isAtEnd,
  className = 'menu-button',
}: MenuButtonProps) {
  const [isOpen, setOpen] = useState(false)
  const place = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const menu = useRef<HTMLDivElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const [anchor, popover] = [button.current, menu.current]
    if (!isOpen || anchor === null || popover === null) return
    const move = () => placeMenu(popover, anchor, isAtEnd === true)
    const isInside = ({ target }: Event) => place.current?.contains(target as Node) === true
    const closeOutside = (event: PointerEvent) => {
      if (!isInside(event)) setOpen(false)
    }
    // A page that was loading when the menu opened may have moved the focus to its heading.
    const closeWithoutFocus = (event: globalThis.KeyboardEvent) => {
      if (event.key === 'Escape' && !isInside(event)) setOpen(false)
    }
    popover.showPopover()
    move()
    itemsIn(popover)[0]?.focus({ preventScroll: true })
    addEventListener('pointerdown', closeOutside, true)
    addEventListener('keydown', closeWithoutFocus)
    addEventListener('resize', move)
    addEventListener('scroll', move, true)
    return () => {
      removeEventListener('pointerdown', closeOutside, true)
      removeEventListener('keydown', closeWithoutFocus)
      removeEventListener('resize', move)
      removeEventListener('scroll', move, true)
    }
  }, [isOpen, isAtEnd])
  const close = () => {
    setOpen(false)
    button.current?.focus()
  }
  const onKey = (event: KeyboardEvent) => {
    if (!isOpen) return
    if (event.key === 'Escape' || event.key === 'Tab') close()
    else if (!moveFocus(place.current, event.key)) return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: handles the keys of the menu inside
    <div className="menu-place" ref={place} onKeyDown={onKey}>
      <button
        type="button"
        ref={button}
        className={className}
        aria-label={name}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        title={children === undefined ? undefined : label}
        onClick={() => setOpen(!isOpen)}
      >
        {children ?? (
          <>
            {label}
            <Icon name={iconChevronDownSmall} size={16} />
          </>
        )}
      </button>
      {isOpen && (
        <div className="menu" ref={menu} popover="manual">
          {head !== undefined && <div className="menu-head">{head}</div>}
          <div id={id} role="menu" aria-label={label}>
            {entries.map((entry, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: entries do not move while the menu is open
              <Entry key={index} entry={entry} onDone={close} />
            ))}
          </div>
        </div>
      )}
    </div>
  )
}

function Entry({ entry, onDone }: { entry: MenuEntry; onDone: () => void }) {
  if (entry.kind === 'line') return <hr className="menu-line" />
  if (entry.kind === 'heading') {
    return (
      <div className="menu-heading" role="presentation">
        {entry.label}
      </div>
    )
  }
  const role =
    entry.kind === 'choice'
      ? ({ role: 'menuitemradio', 'aria-checked': entry.isChosen } as const)
      : ({ role: 'menuitem' } as const)
  return (
    <button
      {...role}
      type="button"
      className="menu-item"
      disabled={entry.kind === 'item' && entry.isDisabled}
      tabIndex={-1}
      onClick={() => {
        onDone()
        entry.onSelect()
      }}
    >
      {entry.kind === 'item' && entry.icon}
      <span>{entry.label}</span>
    </button>
  )
}

const menuMargin = { button: 4, viewport: 8 } as const

/**
 * Places the menu inside the viewport: below the button, or above the button if the menu does not fit below it and
 * there is more space above. If the button is scrolled out of the viewport, the menu stays at the edge.
 */
function placeMenu(menu: HTMLElement, button: HTMLElement, isAtEnd: boolean): void {
  const anchor = button.getBoundingClientRect()
  const room = (edge: number) => Math.max(0, Math.min(edge, innerHeight) - menuMargin.button - menuMargin.viewport)
  const [above, below] = [room(anchor.top), room(innerHeight - anchor.bottom)]
  const height = menu.scrollHeight + menu.offsetHeight - menu.clientHeight
  const isAbove = height > below && above > below
  menu.style.maxHeight = `${isAbove ? above : below}px`
  const top = isAbove ? anchor.top - menuMargin.button - menu.offsetHeight : anchor.bottom + menuMargin.button
  const left = isAtEnd ? anchor.right - menu.offsetWidth : anchor.left
  const rightmost = document.documentElement.clientWidth - menuMargin.viewport - menu.offsetWidth
  const lowest = innerHeight - menuMargin.viewport - menu.offsetHeight
  menu.style.top = `${Math.max(menuMargin.viewport, Math.min(top, lowest))}px`
  menu.style.left = `${Math.max(menuMargin.viewport, Math.min(left, rightmost))}px`
}

function itemsIn(place: HTMLElement | null): HTMLElement[] {
  return [...(place?.querySelectorAll<HTMLElement>('.menu-item:not(:disabled)') ?? [])]
}

/** Moves the focus in the menu. Returns true when the key has moved the focus. */
function moveFocus(place: HTMLElement | null, key: string): boolean {
  const items = itemsIn(place)
  const here = items.indexOf(document.activeElement as HTMLElement)
  const target = {
    ArrowDown: items[(here + 1) % items.length],
    ArrowUp: items.at(here - 1),
    Home: items[0],
    End: items.at(-1),
  }[key]
  const next = target ?? (key.length === 1 && key !== ' ' ? startingWith(items, here, key) : undefined)
  next?.focus()
  return next !== undefined
}

function startingWith(items: HTMLElement[], here: number, letter: string): HTMLElement | undefined {
  const rotated = [...items.slice(here + 1), ...items.slice(0, here + 1)]
  return rotated.find((item) => item.textContent?.trim().toLowerCase().startsWith(letter.toLowerCase()))
}
