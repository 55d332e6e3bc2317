import { eventTypePrefix } from '../../../app/live/live-events.ts'

/**
 * The groups of event types that the form offers, with the prefixes of each group. The prefixes are written without
 * `io.millwright.`. The texts of the form contain the name of each group.
 */
export const typeGroups = {
  assets: ['inventory.asset.'],
  relations: ['inventory.relation.'],
  duplicates: ['inventory.duplicate.'],
  model: ['inventory.custom-property.', 'inventory.schema.', 'inventory.settings.'],
  hierarchies: ['hierarchy.'],
  discovery: ['discovery.', 'monitoring.'],
  gateways: ['onboarding.'],
  jobs: ['workflows.'],
  files: ['imports.', 'exports.'],
  remoteAccess: ['remote-access.'],
  updates: ['updates.'],
  credentials: ['credentials.'],
  access: ['authorization.', 'identity.'],
  subscriptions: ['events.'],
} as const satisfies Record<string, readonly string[]>

export type TypeGroup = keyof typeof typeGroups
export const typeGroupNames = Object.keys(typeGroups) as TypeGroup[]

/** `TypeSelection` contains the event types of a subscription as the form shows them. */
export type TypeSelection = {
  isAll: boolean
  groups: readonly TypeGroup[]
  /** Further prefixes as the user types them, separated by spaces or lines. */
  prefixes: string
}

function prefixesOf(group: TypeGroup): string[] {
  return typeGroups[group].map((prefix) => `${eventTypePrefix}${prefix}`)
}

/** Returns how the form shows the types of a subscription. */
export function selectionOf(types: readonly string[]): TypeSelection {
  if (types.includes(eventTypePrefix)) return { isAll: true, groups: [], prefixes: '' }
  const groups = typeGroupNames.filter((group) => prefixesOf(group).every((prefix) => types.includes(prefix)))
  const covered = new Set(groups.flatMap(prefixesOf))
  return { isAll: false, groups, prefixes: types.filter((type) => !covered.has(type)).join('\n') }
}

/** Returns the types for the API. A prefix that the user types may leave out `io.millwright.`. */
export function typesOf({ isAll, groups, prefixes }: TypeSelection): string[] {
  if (isAll) return [eventTypePrefix]
  const typed = prefixes
    .split(/[\s,]+/)
    .filter((prefix) => prefix !== '')
    .map((prefix) => (prefix.startsWith(eventTypePrefix) ? prefix : `${eventTypePrefix}${prefix}`))
  return [...new Set([...groups.flatMap(prefixesOf), ...typed])]
}
