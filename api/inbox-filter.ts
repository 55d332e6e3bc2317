/** The conditions of the inbox. An empty text selects assets without a value. */
export type InboxConditions = {
  state?: 'unknown' | 'ignored' | undefined
  /** The id of the discovery run that created the asset. */
  scan?: string | undefined
  /** A /24 network, such as 10.0.1.0/24. */
  subnet?: string | undefined
  manufacturer?: string | undefined
  family?: string | undefined
  type?: string | undefined
  confidence?: string | undefined
}

export const inboxFacets = ['scan', 'subnet', 'manufacturer', 'family', 'type', 'confidence'] as const
export type InboxFacet = (typeof inboxFacets)[number]

const product = 'product_instance_information/manufacturer_product'

/** The property of each facet in the filter language. */
export const facetProperties: Readonly<Record<InboxFacet, string>> = {
  scan: 'first_discovery/run_id',
  subnet: 'ipv4_subnets',
  manufacturer: `${product}/manufacturer/name`,
  family: `${product}/product_family`,
  type: 'functional_object_type',
  confidence: 'identity_confidence',
}

/** Returns the filter of the asset list for the assets of the inbox. Gateways and asset links are not in the inbox. */
export function inboxFilter({ state = 'unknown', ...conditions }: InboxConditions): string {
  const terms = inboxFacets.flatMap((facet) => {
    const value = conditions[facet]
    return value === undefined ? [] : [termOf(facet, value)]
  })
  return [`management_state/state_value eq '${state}'`, 'is_platform_managed eq false', ...terms].join(' and ')
}

function termOf(facet: InboxFacet, value: string): string {
  const property = facetProperties[facet]
  const literal = `'${value.replaceAll("'", "''")}'`
  if (facet === 'subnet') return value === '' ? `not ${property}/any()` : `${property}/any(s: s eq ${literal})`
  return `${property} eq ${value === '' ? 'null' : literal}`
}
