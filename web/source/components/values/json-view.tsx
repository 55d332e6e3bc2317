import { useState } from 'react'

type JsonViewProps = { value: unknown; name?: string; depth?: number }

/** The number of nesting levels that are open initially. */
const openDepth = 2
/** The number of entries that are shown initially. The user can show more entries. */
const shownAtFirst = 100

/** `JsonView` shows a document as a collapsible tree. Values are always rendered as text. */
export function JsonView({ value, name, depth = 0 }: JsonViewProps) {
  const label = name === undefined ? null : <span className="json-name">{name}: </span>
  if (typeof value !== 'object' || value === null) {
    return (
      <div className="json-leaf">
        {label}
        <span className={`json-${value === null ? 'null' : typeof value}`}>{JSON.stringify(value) ?? '–'}</span>
      </div>
    )
  }
  const isList = Array.isArray(value)
  const entries = Object.entries(value)
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  if (entries.length === 0) {
    return (
      <div className="json-leaf">
        {label}
        {open}
        {close}
      </div>
    )
  }
  return (
    <details className="json-branch" open={depth < openDepth}>
      <summary>
        {label}
        <span className="json-size">
          {open} {entries.length} {close}
        </span>
      </summary>
      <Entries entries={entries} depth={depth + 1} />
    </details>
  )
}

function Entries({ entries, depth }: { entries: [string, unknown][]; depth: number }) {
  const [shown, setShown] = useState(shownAtFirst)
  return (
    <div className="json-entries">
      {entries.slice(0, shown).map(([key, each]) => (
        <JsonView key={key} name={key} value={each} depth={depth} />
      ))}
      {entries.length > shown && (
        <button type="button" className="link-button" onClick={() => setShown(shown + shownAtFirst)}>
          + {entries.length - shown}
        </button>
      )}
    </div>
  )
}
