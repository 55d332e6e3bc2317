import { useFormats, useLanguage, useText } from '../../app/language/language-context.tsx'
import { assetTypeName } from '../values/asset-type-names.ts'
import type { Colouring, LegendEntry } from './graph-colours.ts'
import { graphMessages } from './messages.ts'

type GraphLegendProps = {
  entries: readonly LegendEntry[]
  by: Colouring
  only: string | undefined
  onOnly: (value: string | undefined) => void
}

/** `GraphLegend` lists each colour with its meaning and its number of nodes. Selecting an entry filters the graph. */
export function GraphLegend({ entries, by, only, onOnly }: GraphLegendProps) {
  const text = useText(graphMessages)
  const formats = useFormats()
  const language = useLanguage()
  const words = wordsOf(by, text)
  const named = (value: string) => words[value] ?? (by === 'type' ? assetTypeName(value, language) : value)
  return (
    <ul className="graph-legend" aria-label={text.legend}>
      {entries.map(({ value, count, colour }) => (
        <li key={value}>
          <button
            type="button"
            className="legend-entry"
            aria-pressed={only === value}
            onClick={() => onOnly(only === value ? undefined : value)}
          >
            <span className="legend-dot" style={{ background: `var(${colour})` }} aria-hidden="true" />
            <span>{named(value)}</span>
            <span className="quiet">{formats.number(count)}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}

/**
 * Returns the display names of legend entries by value. Manufacturers have none, because their names are not
 * translated.
 */
function wordsOf(by: Colouring, text: (typeof graphMessages)['en']): Readonly<Record<string, string>> {
  const { other, unset, node } = text
  const { regarded, ignored, unknown, reached, failed, reachUnknown } = text
  const always = { other, unset }
  return {
    type: { ...always, node },
    management: { ...always, regarded, ignored, unknown },
    reachability: { ...always, reached, failed, unknown: reachUnknown },
    manufacturer: always,
  }[by]
}
