import { iconSearch } from '@siemens/ix-icons/icons'
import { useEffect, useEffectEvent, useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { Icon } from '../../../components/values/icon.tsx'
import { assetsMessages } from '../messages.ts'

const debounceMs = 250

type SearchFieldProps = {
  value: string
  onChange: (value: string) => void
  /** The accessible name of the field. The default is the name of the search for assets. */
  label?: string
  hint?: string
}

/** `SearchField` is the field for full-text search. The search starts when the user stops typing. */
export function SearchField({ value, onChange, label, hint }: SearchFieldProps) {
  const text = useText(assetsMessages)
  const [typed, setTyped] = useState(value)
  const [lastValue, setLastValue] = useState(value)
  if (lastValue !== value) {
    setLastValue(value)
    setTyped(value)
  }
  const submit = useEffectEvent(() => {
    if (typed.trim() !== value) onChange(typed.trim())
  })
  useEffect(() => {
    const timer = setTimeout(() => submit(), typed === '' ? 0 : debounceMs)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <div className="search-field">
      <Icon name={iconSearch} size={16} />
      <input
        className="input"
        type="search"
        aria-label={label ?? text.search}
        placeholder={hint ?? text.searchHint}
        maxLength={256}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
      />
    </div>
  )
}
