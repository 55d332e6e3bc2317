import type { FacetValue, Scan } from '@millwright/api/inbox.ts'
import { facetProperties, type InboxFacet, inboxFacets } from '@millwright/api/inbox-filter.ts'
import { iconFilter } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { MenuButton } from '../../../components/actions/menu-button.tsx'
import { valueName } from '../../assets/model/value-names.ts'
import { linkTitle } from '../../discovery/built-in-links.ts'
import { confidenceMessages, facetMessages, inboxMessages, noValueMessages } from '../messages.ts'

export type FacetChoices = Partial<Record<InboxFacet, string>>
type Facets = Readonly<Record<InboxFacet, readonly FacetValue[]>>

type FacetMenusProps = {
  facets: Facets | undefined
  chosen: FacetChoices
  onChoose: (facet: InboxFacet, value: string | undefined) => void
}

/**
 * `FacetMenus` shows one menu for each facet of the inbox. A value shows how many assets have it, and narrows the list to them. On
 * narrow pages, the menus are behind a button.
 */
export function FacetMenus({ facets, chosen, onChoose }: FacetMenusProps) {
  const text = useText(inboxMessages)
  const formats = useFormats()
  const names = useText(facetMessages)
  const label = useFacetLabel()
  const [isOpen, setOpen] = useState(false)
  const shown = inboxFacets.filter((facet) => {
    const values = facets?.[facet] ?? []
    return chosen[facet] !== undefined || values.length > 1 || values.some(({ value }) => value !== null)
  })
  return (
    <div className="facet-menus" data-open={isOpen}>
      <IxButton
        className="facet-toggle"
        variant="secondary"
        icon={iconFilter}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {text.facets}
      </IxButton>
      <section className="facets" aria-label={text.facets}>
        {shown.map((facet) => (
          <MenuButton
            key={facet}
            label={names[facet]}
            className="menu-button facet-menu"
            entries={[
              {
                kind: 'choice',
                label: text.all,
                isChosen: chosen[facet] === undefined,
                onSelect: () => onChoose(facet, undefined),
              },
              ...(facets?.[facet] ?? []).map((value) => ({
                kind: 'choice' as const,
                label: text.facetValue(label(facet, value), formats.number(value.count)),
                isChosen: (value.value ?? '') === chosen[facet],
                onSelect: () => onChoose(facet, value.value ?? ''),
              })),
            ]}
          />
        ))}
      </section>
    </div>
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
