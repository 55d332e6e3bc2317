import { iconClose } from '@siemens/ix-icons/icons'
import type { ReactNode } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { useRovingFocus } from '../actions/roving-focus.ts'
import { componentMessages } from '../messages.ts'
import { Icon } from '../values/icon.tsx'

export type FilterChip = {
  id: string
  /** The name of the filter, and the words between the name and the value. */
  label: string
  value: string
  onRemove: () => void
}

type FilterChipsProps = {
  chips: readonly FilterChip[]
  /** Removes all filters. If it is undefined, the chips have no button for it. */
  onClear?: (() => void) | undefined
  /** Further buttons after the chips. */
  children?: ReactNode
}

/** `FilterChips` shows the active filters of a list. A click on a filter removes it. The chips are one tab stop. */
export function FilterChips({ chips, onClear, children }: FilterChipsProps) {
  const text = useText(componentMessages)
  const roving = useRovingFocus<HTMLDivElement>('button')
  return (
    <div className="filter-chips" role="toolbar" aria-label={text.activeFilters} {...roving}>
      {chips.map(({ id, label, value, onRemove }) => (
        <button
          key={id}
          type="button"
          className="filter-chip"
          aria-label={text.removeFilter(`${label} ${value}`.trim())}
          onClick={onRemove}
        >
          <span className="filter-chip-text">
            {label} <strong>{value}</strong>
          </span>
          <Icon name={iconClose} size={12} />
        </button>
      ))}
      {onClear !== undefined && (
        <button type="button" className="link-button" onClick={onClear}>
          {text.clearFilters}
        </button>
      )}
      {children}
    </div>
  )
}
