import type { FacetValue, Scan } from '@millwright/api/inbox.ts'
import { facetProperties, type InboxFacet, inboxFacets } from '@millwright/api/inbox-filter.ts'
import { useState } from 'react'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { valueName } from '../../assets/model/value-names.ts'
import { linkTitle } from '../../discovery/built-in-links.ts'
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
  // There is no room for the day and the time. The tooltip contains both.
  const shortStart = (scan: Scan) => {
    const at = startOf(scan)
    return formats.date(at) === formats.date(new Date().toISOString()) ? formats.shortTime(at) : formats.dayMonth(at)
  }
  const isFew = isOpen || values.length <= fewValues + 1
  const listed = isFew ? values : values.filter(({ value }, index) => index < fewValues || (value ?? '') === chosen)
  return (
    <fieldset className="facet">
      <legend>{facetNames[facet]}</legend>
      <ul>
        <li>
          <button
            type="button"
            className="facet-value facet-all"
            aria-pressed={chosen === undefined}
            aria-label={text.allOf(facetNames[facet])}
            onClick={() => onChoose(undefined)}
          >
            <span className="facet-name">{text.all}</span>
          </button>
        </li>
        {listed.map((value) => {
          const key = value.value ?? ''
          const isChosen = key === chosen
          const isWithoutAddress = facet === 'subnet' && key === ''
          return (
            <li key={key}>
              <button
                type="button"
                className="facet-value"
                aria-pressed={isChosen}
                title={isWithoutAddress ? text.noAddressHint : label(facet, value)}
                onClick={() => onChoose(isChosen ? undefined : key)}
              >
                {value.scan === undefined ? (
                  <span className="facet-name">
                    {label(facet, value)}
                    {isWithoutAddress && <span className="facet-detail">{text.noAddressDetail}</span>}
                  </span>
                ) : (
                  <span className="facet-name">
                    {text.runOf(formats.number(value.scan.number), shortStart(value.scan))}
                    <span className="facet-detail">{scanNameOf(value.scan, text)}</span>
                  </span>
                )}
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

/** Returns the name of a scan as in the list of scans: its asset link and its address range. */
function scanNameOf({ assetLinkId, scope }: Scan, text: (typeof inboxMessages)['en']): string {
  const name = linkTitle(assetLinkId)
  return scope === undefined ? name : text.scanName(name, scope.join(', ') || text.allDevices)
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
      const { gatewayName = text.unknownGateway, number } = scan
      const run = text.runOf(formats.number(number), formats.compact(startOf(scan)))
      return `${scanNameOf(scan, text)} · ${run} · ${gatewayName}`
    }
    if (value === null || value === '') return noValue[facet]
    if (facet === 'confidence') return confidence[value as 'high' | 'medium' | 'low'] ?? value
    return valueName(facetProperties[facet], value, language)
  }
}
