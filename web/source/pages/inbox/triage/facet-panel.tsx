import type { FacetValue, Scan } from '@millwright/api/inbox.ts'
import { facetProperties, type InboxFacet, inboxFacets } from '@millwright/api/inbox-filter.ts'
import { useState } from 'react'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { valueName } from '../../assets/model/value-names.ts'
import { linkTitle } from '../../discovery/built-in-links.ts'
import { DayTime } from '../day-time.tsx'
import { confidenceMessages, facetMessages, inboxMessages, noValueMessages } from '../messages.ts'

export type FacetChoices = Partial<Record<InboxFacet, string>>
type Facets = Readonly<Record<InboxFacet, readonly FacetValue[]>>

type FacetPanelProps = {
  facets: Facets | undefined
  chosen: FacetChoices
  onChoose: (facet: InboxFacet, value: string | undefined) => void
}

/** The number of values of a facet before the user shows all of them. */
const fewValues = 5

/** `FacetPanel` shows the facets of the inbox. A value shows how many assets have it, and narrows the list to them. */
export function FacetPanel({ facets, chosen, onChoose }: FacetPanelProps) {
  const text = useText(inboxMessages)
  const shown = inboxFacets.filter((facet) => {
    const values = facets?.[facet] ?? []
    return chosen[facet] !== undefined || values.length > 1 || values.some(({ value }) => value !== null)
  })
  return (
    <section className="facets" aria-label={text.facets}>
      {shown.map((facet) => (
        <FacetGroup
          key={facet}
          facet={facet}
          values={facets?.[facet] ?? []}
          chosen={chosen[facet]}
          onChoose={(value) => onChoose(facet, value)}
        />
      ))}
    </section>
  )
}

type FacetGroupProps = {
  facet: InboxFacet
  values: readonly FacetValue[]
  chosen: string | undefined
  onChoose: (value: string | undefined) => void
}

function FacetGroup({ facet, values, chosen, onChoose }: FacetGroupProps) {
  const text = useText(inboxMessages)
  const formats = useFormats()
  const facetNames = useText(facetMessages)
  const label = useFacetLabel()
  const [isOpen, setOpen] = useState(false)
  const isFew = isOpen || values.length <= fewValues + 1
  const listed = isFew ? values : values.filter(({ value }, index) => index < fewValues || (value ?? '') === chosen)
  return (
    <fieldset className="facet">
      <legend>{facetNames[facet]}</legend>
      <ul>
        {listed.map((value) => {
          const key = value.value ?? ''
          const isChosen = key === chosen
          return (
            <li key={key}>
              <button
                type="button"
                className="facet-value"
                aria-pressed={isChosen}
                title={label(facet, value)}
                onClick={() => onChoose(isChosen ? undefined : key)}
              >
                <span className="facet-name">
                  {value.scan === undefined ? (
                    label(facet, value)
                  ) : (
                    <>
                      {linkTitle(value.scan.assetLinkId)}
                      <span className="facet-detail">
                        <DayTime at={startOf(value.scan)} />
                      </span>
                    </>
                  )}
                </span>
                <span className="facet-count">{formats.number(value.count)}</span>
              </button>
            </li>
          )
        })}
      </ul>
      {!isFew && (
        <button type="button" className="link-button" onClick={() => setOpen(true)}>
          {text.moreValues(formats.number(values.length - listed.length))}
        </button>
      )}
    </fieldset>
  )
}

/** Returns the start of a scan. Before its gateway has started it, it is the time of the request. */
export function startOf({ startedTimestamp, createdTimestamp }: Scan): string {
  return startedTimestamp ?? createdTimestamp
}

/** Returns a function that returns the display name of the value of a facet. */
export function useFacetLabel(): (facet: InboxFacet, value: FacetValue) => string {
  const text = useText(inboxMessages)
  const formats = useFormats()
  const language = useLanguage()
  const noValue = useText(noValueMessages)
  const confidence = useText(confidenceMessages)
  return (facet, { value, scan }) => {
    if (facet === 'scan') {
      if (scan === undefined) return value === null || value === '' ? text.otherScans : text.unreadableScan
      const { gatewayName = text.unknownGateway, assetLinkId } = scan
      return `${linkTitle(assetLinkId)} · ${formats.dateTime(startOf(scan))} · ${gatewayName}`
    }
    if (value === null || value === '') return noValue[facet]
    if (facet === 'confidence') return confidence[value as 'high' | 'medium' | 'low'] ?? value
    return valueName(facetProperties[facet], value, language)
  }
}
