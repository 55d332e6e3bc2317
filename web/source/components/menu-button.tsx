import { iconChevronDownSmall } from '@siemens/ix-icons/icons'
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { Icon } from './icon.tsx'

export type MenuEntry =
  | { kind: 'item'; label: string; icon?: ReactNode; isDisabled?: boolean; onSelect: () => void }
  | { kind: 'choice'; label: string; isChosen: boolean; onSelect: () => void }
  | { kind: 'heading'; label: string }
  | { kind: 'line' }

type Given = {
  /** What the button says to who does not see it, or its visible text. */
  label: string
  /** What the button shows; its label unless given. */
  children?: ReactNode
  entries: readonly MenuEntry[]
  /** Above the entries: whose menu it is. */
  head?: ReactNode
  /** Opens towards the left of the button, for one at the right edge. */
  isAtEnd?: boolean
  className?: string
}

/** A button that opens a menu. Arrow keys move, letters jump, Escape closes and returns to the button. */
export function MenuButton({ label, children, entries, head, isAtEnd, className = 'menu-button' }: Given) {
  const [isOpen, setOpen] = useState(false)
  const place = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const id = useId()
  useEffect(() => {
    if (!isOpen) return
    itemsIn(place.current)[0]?.focus()
    const closeBeside = (event: PointerEvent) => {
      if (!place.current?.contains(event.target as Node)) setOpen(false)
    }
    addEventListener('pointerdown', closeBeside, true)
    return () => removeEventListener('pointerdown', closeBeside, true)
  }, [isOpen])
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
    // biome-ignore lint/a11y/noStaticElementInteractions: keys of the menu that it holds
    <div className="menu-place" ref={place} onKeyDown={onKey}>
      <button
        type="button"
        ref={button}
        className={className}
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
        <div className="menu" data-at-end={isAtEnd}>
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

function itemsIn(place: HTMLElement | null): HTMLElement[] {
  return [...(place?.querySelectorAll<HTMLElement>('.menu-item:not(:disabled)') ?? [])]
}

/** True when the key meant something. */
function moveFocus(place: HTMLElement | null, key: string): boolean {
  const items = itemsIn(place)
  const here = items.indexOf(document.activeElement as HTMLElement)
  const found = {
    ArrowDown: items[(here + 1) % items.length],
    ArrowUp: items.at(here - 1),
    Home: items[0],
    End: items.at(-1),
  }[key]
  const next = found ?? (key.length === 1 && key !== ' ' ? startingWith(items, here, key) : undefined)
  next?.focus()
  return next !== undefined
}

function startingWith(items: HTMLElement[], here: number, letter: string): HTMLElement | undefined {
  const rotated = [...items.slice(here + 1), ...items.slice(0, here + 1)]
  return rotated.find((item) => item.textContent?.trim().toLowerCase().startsWith(letter.toLowerCase()))
}
