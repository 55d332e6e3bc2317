import { type CommonParts, commonParts, isSeparator } from './names.ts'

/**
 * Assets of a large group belong together if their names continue with the same part, for example the assets of a cell:
 * `A-L01-C01-PLC01` and `A-L01-C01-SW01` in the group of line `L01`.
 */

export type NameCluster = {
  /** The part of the names that the assets have in common. It is empty for assets with other names. */
  name: string
  /** The places of the assets in the group. */
  members: number[]
  common: CommonParts
}

/** The numbers of assets and of clusters with which a group is divided. */
const sizes = { assets: 24, clusters: 40, average: 4 } as const

/** Returns the clusters, or undefined if the group is small or if the names do not divide it. */
export function clustersOf(names: readonly (string | undefined)[]): NameCluster[] | undefined {
  if (names.length < sizes.assets) return undefined
  const { start } = commonParts(names.flatMap((name) => name || []))
  const clusters = new Map<string, NameCluster>()
  for (const [index, name = ''] of names.entries()) {
    const length = [...name.slice(start)].findIndex(isSeparator)
    const part = length > 0 && start + length + 1 < name.length ? name.slice(start, start + length) : ''
    const known = clusters.get(part)
    if (known !== undefined) known.members.push(index)
    else clusters.set(part, { name: part, members: [index], common: commonOf(part, start) })
  }
  const count = clusters.size
  const isDivided = count > 1 && count <= sizes.clusters && names.length / count >= sizes.average
  const others = clusters.get('')?.members.length ?? 0
  if (!isDivided || others * 2 > names.length) return undefined
  return [...clusters.values()].toSorted((one, other) => Number(one.name === '') - Number(other.name === ''))
}

function commonOf(part: string, start: number): CommonParts {
  return { start: part === '' ? start : start + part.length + 1, end: 0 }
}
