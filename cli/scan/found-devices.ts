import { canonicalJson } from '@millwright/api/canonical-json.ts'
import { mergeFinding } from '@millwright/cloud/services/inventory/assets/field-sources.ts'
import type { LocalFinding } from '@millwright/gateway/local-scan/local-scan.ts'

type Document = Record<string, unknown>

/** `FoundDevice` is a device that one or several links found. */
export type FoundDevice = { links: string[]; address?: string; asset: Document }

/** The lists that contain the entries of all findings. */
const lists = ['asset_identifiers', 'asset_relations'] as const

/**
 * Merges the findings of several links. Findings with a common identifier are one device, and so are findings at the
 * same IP address, unless they are modules of a device. In each field, the source that wins in the inventory wins here too.
 */
export function foundDevices(findings: readonly LocalFinding[]): FoundDevice[] {
  const groups = new Map<string, LocalFinding[]>()
  for (const finding of findings) {
    const keys = keysOf(finding.asset)
    const known = [...new Set(keys.flatMap((key) => groups.get(key) ?? []))]
    const group = [...known, finding]
    for (const key of [...keys, ...known.flatMap(({ asset }) => keysOf(asset))]) groups.set(key, group)
  }
  return [...new Set(groups.values())].map(deviceOf).toSorted((a, b) => order(a.address) - order(b.address))
}

function deviceOf(group: readonly LocalFinding[]): FoundDevice {
  const time = new Date().toISOString()
  let merged: { document: Document; sources: Parameters<typeof mergeFinding>[0]['sources'] } = {
    document: {},
    sources: {},
  }
  for (const { link, asset } of group) {
    const finding = { source: link.appInstanceId, reporter: '', asset: without(asset, lists), time }
    const { fields, sources } = mergeFinding(merged, finding)
    merged = { document: { ...merged.document, ...fields }, sources }
  }
  const joined = lists.map(
    (field) => [field, distinct(group.flatMap(({ asset }) => documentsIn(asset[field])))] as const,
  )
  const filled = [...Object.entries(merged.document), ...joined].filter(([, value]) => !isEmpty(value))
  const asset = Object.fromEntries(filled)
  const [address] = addressesOf(asset)
  const links = [...new Set(group.map(({ link }) => link.name))]
  return { links, ...(address === undefined ? {} : { address }), asset }
}

function without(asset: Document, fields: readonly string[]): Document {
  return Object.fromEntries(Object.entries(asset).filter(([field]) => !fields.includes(field)))
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0)
}

function distinct(documents: readonly Document[]): Document[] {
  return [...new Map(documents.map((one) => [canonicalJson(one), one])).values()]
}

function documentsIn(value: unknown): Document[] {
  return Array.isArray(value) ? value : []
}

function keysOf(asset: Document): string[] {
  const identifiers = documentsIn(asset.asset_identifiers).map(({ identifier_uncertainty: _, ...one }) =>
    canonicalJson(one),
  )
  const isModule = documentsIn(asset.asset_relations).some(({ predicate }) => predicate === 'is_module_of')
  return isModule ? identifiers : [...identifiers, ...addressesOf(asset)]
}

function addressesOf({ connection_points: points }: Document): string[] {
  return documentsIn(points).flatMap(({ ipv4_address: address }) => (typeof address === 'string' ? [address] : []))
}

/** Returns a number by which devices are sorted. Devices without an address come last. */
function order(address: string | undefined): number {
  if (address === undefined) return Number.MAX_SAFE_INTEGER
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}
