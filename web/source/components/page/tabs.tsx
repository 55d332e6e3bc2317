import { type KeyboardEvent, type ReactNode, useId, useRef } from 'react'

export type Tab<Id extends string> = {
  id: Id
  label: ReactNode
  /** Whether a line separates the tab from the previous one, because another group of tabs starts. */
  startsGroup?: boolean
}

type TabsProps<Id extends string> = {
  label: string
  tabs: readonly Tab<Id>[]
  chosen: Id
  onChoose: (id: Id) => void
  children: ReactNode
}

/** `Tabs` shows several tabs and the view of the selected tab. Arrow keys move between the tabs. */
export function Tabs<Id extends string>({ label, tabs, chosen, onChoose, children }: TabsProps<Id>) {
  const base = useId()
  const list = useRef<HTMLDivElement>(null)
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    const at = tabs.findIndex(({ id }) => id === chosen)
    const next = tabs[(at + step + tabs.length) % tabs.length]
    if (next === undefined) return
    event.preventDefault()
    onChoose(next.id)
    list.current?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus()
  }
  return (
    <>
      <div className="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={onKey}>
        {tabs.map(({ id, label: name, startsGroup = false }) => (
          <button
            key={id}
            type="button"
            role="tab"
            className="tab"
            id={`${base}-${id}`}
            data-tab={id}
            data-starts-group={startsGroup}
            aria-selected={id === chosen}
            aria-controls={`${base}-panel`}
            tabIndex={id === chosen ? 0 : -1}
            onClick={() => onChoose(id)}
          >
            {name}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${base}-panel`} aria-labelledby={`${base}-${chosen}`}>
        {children}
      </div>
    </>
  )
}
