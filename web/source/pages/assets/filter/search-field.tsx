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

/**
 * `SearchField` is the field for full-text search. The search starts when the user stops typing. If the value changes to an
 * earlier search of the field, the text stays: the user may have typed more in the meantime.
 */
export function SearchField({ value, onChange, label, hint }: SearchFieldProps) {
  const text = useText(assetsMessages)
  const [typed, setTyped] = useState(value)
  const [lastValue, setLastValue] = useState(value)
  /** The searches of this field that have not become the value yet. */
  const [submitted, setSubmitted] = useState<readonly string[]>([])
  if (lastValue !== value) {
    const index = submitted.indexOf(value)
    setLastValue(value)
    setSubmitted(index === -1 ? [] : submitted.slice(index + 1))
    if (index === -1) setTyped(value)
  }
  const submit = useEffectEvent(() => {
    const search = typed.trim()
    if (search === (submitted.at(-1) ?? value)) return
    setSubmitted([...submitted, search])
    onChange(search)
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
