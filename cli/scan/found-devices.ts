import { canonicalJson } from '@millwright/api/canonical-json.ts'
import { mergeFinding } from '@millwright/cloud/services/inventory/assets/field-sources.ts'
import type { LocalFinding } from '@millwright/gateway/local-scan/local-scan.ts'

type Document = Record<string, unknown>

/** `FoundDevice` is a device that one or several links found. `id` is unique in one scan. */
export type FoundDevice = { id: string; links: string[]; address?: string; asset: Document }

/** The lists that contain the entries of all findings. */
const lists = ['asset_identifiers', 'asset_relations'] as const

/**
 * `FoundDevices` merges the findings of several links. Findings with a common identifier are one device, and so are
 * findings at the same scanned address, unless they are modules of a device. Addresses that a device reports about itself
 * are not compared, because they can be those of other devices. In each field, the source that wins in the inventory wins
 * here too. The findings are the nodes of a disjoint-set forest, so the time is nearly linear.
 */
export class FoundDevices {
  readonly #findings: LocalFinding[] = []
  /** The parent of each finding. The root of a device is its first finding. */
  readonly #parents: number[] = []
  readonly #byKey = new Map<string, number>()

  /** Adds a finding. Returns its device if no finding of the device was added before. */
  add(finding: LocalFinding): FoundDevice | undefined {
    const node = this.#findings.push(finding) - 1
    this.#parents.push(node)
    for (const key of keysOf(finding)) {
      const known = this.#byKey.get(key)
      if (known === undefined) this.#byKey.set(key, node)
      else this.#join(known, node)
    }
    return this.#rootOf(node) === node ? deviceOf(idOf(node), [finding]) : undefined
  }

  /** Returns the devices, ordered by address. */
  list(): FoundDevice[] {
    const groups = Map.groupBy(this.#findings.keys(), (node) => this.#rootOf(node))
    return [...groups]
      .map(([root, nodes]) =>
        deviceOf(
          idOf(root),
          nodes.flatMap((node) => this.#findings[node] ?? []),
        ),
      )
      .toSorted((a, b) => order(a.address) - order(b.address))
  }

  /** Returns the id of the device that a device with this id was merged with. */
  currentId(id: string): string {
    return idOf(this.#rootOf(nodeOf(id)))
  }

  #join(one: number, other: number): void {
    const [first, second] = [this.#rootOf(one), this.#rootOf(other)].toSorted((a, b) => a - b)
    if (first !== undefined && second !== undefined) this.#parents[second] = first
  }

  #rootOf(node: number): number {
    let root = node
    for (let parent = this.#parents[root]; parent !== undefined && parent !== root; parent = this.#parents[root])
      root = parent
    // The path is shortened, so that the next search needs one step.
    for (let step = node; step !== root; ) {
      const parent = this.#parents[step] ?? root
      this.#parents[step] = root
      step = parent
    }
    return root
  }
}

const idPrefix = 'device-'

function idOf(node: number): string {
  return `${idPrefix}${node + 1}`
}

function nodeOf(id: string): number {
  return Number(id.slice(idPrefix.length)) - 1
}

function deviceOf(id: string, group: readonly LocalFinding[]): FoundDevice {
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
  const address = group.find((finding) => finding.address !== undefined)?.address ?? addressIn(asset)
  const links = [...new Set(group.map(({ link }) => link.name))]
  return { id, links, ...(address === undefined ? {} : { address }), asset }
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

function keysOf({ asset, address }: LocalFinding): string[] {
  const identifiers = documentsIn(asset.asset_identifiers).map(({ identifier_uncertainty: _, ...one }) =>
    canonicalJson(one),
  )
  const isModule = documentsIn(asset.asset_relations).some(({ predicate }) => predicate === 'is_module_of')
  return isModule || address === undefined ? identifiers : [...identifiers, address]
}

function addressIn({ connection_points: points }: Document): string | undefined {
  return documentsIn(points).flatMap(({ ipv4_address: address }) => (typeof address === 'string' ? [address] : []))[0]
}

/** Returns a number by which devices are sorted. Devices without an address come last. */
function order(address: string | undefined): number {
  if (address === undefined) return Number.MAX_SAFE_INTEGER
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}
