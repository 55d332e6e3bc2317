/**
 * The rule that decides which source of a field wins: an edit by a person before a scan, a specific protocol before a
 * generic one, and then the newer value before the older one.
 */

/** The name of the source of values that people and API clients wrote. */
export const manualSource = 'manual'

const ranks = { generic: 1, unknown: 2, specific: 3, manual: 4 } as const

/**
 * The ranks of the known links by their id. A generic link derives its values from addresses and names in the network. A
 * specific link reads them from the device. Links that are not in this table rank between the two.
 */
const linkRanks: Readonly<Record<string, keyof typeof ranks>> = {
  'millwright.links.ip-scan': 'generic',
  'millwright.links.mdns': 'generic',
  'millwright.links.plant': 'specific',
  'millwright.links.snmp': 'specific',
  'millwright.links.opcua': 'specific',
  'millwright.links.modbus': 'specific',
  'millwright.links.profinet': 'specific',
  'millwright.links.s7': 'specific',
  'millwright.links.bacnet': 'specific',
  'millwright.links.ethernet-ip': 'specific',
  [manualSource]: 'manual',
}

/** Returns the rank of a source. The source with the higher rank wins. */
export function rankOf(source: string): number {
  return ranks[(Object.hasOwn(linkRanks, source) ? linkRanks[source] : undefined) ?? 'unknown']
}

/** A source of a value, and the time since which the source has reported this value, in UTC with milliseconds. */
type ValueSource = { source: string; since: string }

/**
 * Compares two sources of one field. The result is positive if the first source wins. `since` is the time of the last
 * change of the value, so a source that repeats an old value does not win over a newer one. If all else is equal, the
 * name of the source decides, so that the result does not depend on the order of the scans.
 */
export function compareSources(one: ValueSource, other: ValueSource): number {
  const byRank = rankOf(one.source) - rankOf(other.source)
  if (byRank !== 0) return byRank
  if (one.since !== other.since) return one.since > other.since ? 1 : -1
  return one.source === other.source ? 0 : one.source < other.source ? 1 : -1
}
