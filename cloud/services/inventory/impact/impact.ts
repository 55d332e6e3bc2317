import type { ImpactEffect, ImpactedAsset, ImpactMode } from '@millwright/api/inventory/impact.ts'

/**
 * Computes which assets are affected by the failure of an asset, from relations in memory.
 * - Dependencies: the subject of a relation depends on its object. A connection (`is_connected_to`) that is recorded in one
 *   direction is a dependency too. A connection that is recorded in both directions is only a cable.
 * - Network, for `fails` only: an asset that loses its last path of cables to a gateway is affected. If it loses one of several
 *   paths, it is degraded. In a network without a gateway, the largest part that remains keeps working.
 * - Redundancy: if a lost asset has a partner (`is_redundant_with`) that still works, the asset and the assets that depend on it
 *   are degraded. For `fails`, the search does not continue from degraded assets, because they still work.
 */

export const cable = 'is_connected_to'
export const redundancy = 'is_redundant_with'

/** Relations of these predicates say how an asset was found or where it is. They are not dependencies. */
export const ignoredPredicates: ReadonlySet<string> = new Set([
  'found_by_gateway',
  'found_by_asset_link',
  'is_assigned_to_node',
  'is_watched_by',
])

export type ImpactRelation = { subject: string; predicate: string; object: string }

export type ImpactInput = {
  start: string
  mode: ImpactMode
  relations: readonly ImpactRelation[]
  gateways: ReadonlySet<string>
}

export type Effect = Pick<ImpactedAsset, 'effect' | 'reason' | 'depth'> & { via?: string }

type Links = Map<string, Set<string>>

/** Returns the effect on each asset, without the asset that fails. */
export function impactOf(input: ImpactInput): Map<string, Effect> {
  const graph = graphOf(input.relations)
  // The first round ignores redundancy, so it loses too many assets. Each further round regards the partners that the round
  // before did not lose as working, and loses fewer assets.
  let result = effectsOf(input, graph, undefined)
  for (let round = 0; round < mostRounds; round++) {
    const next = effectsOf(input, graph, result.lost)
    if (next.lost.size === result.lost.size) return next.effects
    result = next
  }
  return result.effects
}

/**
 * The maximum number of rounds with redundancy. More are needed only if partners depend on each other in a longer chain. Then
 * assets at the end of the chain count as affected although a partner works.
 */
const mostRounds = 50

/** `attached` are the dependents over connections in one direction. For `fails`, the network of cables decides. */
type Graph = { dependents: Links; attached: Links; cables: Links; partners: Links }

function graphOf(relations: readonly ImpactRelation[]): Graph {
  const graph: Graph = { dependents: new Map(), attached: new Map(), cables: new Map(), partners: new Map() }
  const connected = new Set(
    relations.filter(({ predicate }) => predicate === cable).map(({ subject, object }) => `${subject} ${object}`),
  )
  for (const { subject, predicate, object } of relations) {
    if (subject === object || ignoredPredicates.has(predicate)) continue
    if (predicate === redundancy) addBoth(graph.partners, subject, object)
    else if (predicate === cable) {
      addBoth(graph.cables, subject, object)
      if (!connected.has(`${object} ${subject}`)) add(graph.attached, object, subject)
    } else add(graph.dependents, object, subject)
  }
  return graph
}

function add(links: Links, from: string, to: string): void {
  const known = links.get(from)
  if (known === undefined) links.set(from, new Set([to]))
  else known.add(to)
}

function addBoth(links: Links, one: string, other: string): void {
  add(links, one, other)
  add(links, other, one)
}

/** `lost` are the assets that stop working, even if a partner replaces them. */
type Round = { effects: Map<string, Effect>; lost: ReadonlySet<string> }

type QueuedAsset = { id: string; depth: number; effect: ImpactEffect }

function effectsOf(
  { start, mode, gateways }: ImpactInput,
  { dependents, attached, cables, partners }: Graph,
  /** The assets that the round before lost. If undefined, no asset has a working partner. */
  lostBefore: ReadonlySet<string> | undefined,
): Round {
  const effects = new Map<string, Effect>()
  const lost = new Set([start])
  const isReplaced = (id: string) =>
    lostBefore !== undefined && [...(partners.get(id) ?? [])].some((partner) => !lostBefore.has(partner))
  const queue: QueuedAsset[] = [{ id: start, depth: 0, effect: 'affected' }]
  const record = (id: string, effect: Effect) => {
    const known = effects.get(id)
    if (id === start || (known !== undefined && !(known.effect === 'degraded' && effect.effect === 'affected'))) return
    effects.set(id, effect)
    const isFollowed = effect.effect === 'affected' || (mode === 'depends' && effect.reason !== 'network')
    if (isFollowed) queue.push({ id, depth: effect.depth, effect: effect.effect })
  }
  if (mode === 'fails')
    for (const [id, effect] of networkEffects({ start, cables, gateways }, isReplaced(start))) {
      if (effect.effect === 'affected') lost.add(id)
      const isDegraded = effect.effect === 'affected' && isReplaced(id)
      record(id, isDegraded ? { ...effect, effect: 'degraded', reason: 'redundancy' } : effect)
    }
  for (const { id, depth, effect } of queue) {
    if (id !== start && effects.get(id)?.effect !== effect) continue
    const isLost = effect === 'affected' && !isReplaced(id)
    const followed = [...(dependents.get(id) ?? []), ...(mode === 'depends' ? (attached.get(id) ?? []) : [])]
    for (const dependent of followed) {
      const isOwnReplaced = isLost && isReplaced(dependent)
      if (isLost) lost.add(dependent)
      record(dependent, {
        effect: isLost && !isOwnReplaced ? 'affected' : 'degraded',
        reason: isLost && !isOwnReplaced ? 'dependency' : 'redundancy',
        depth: depth + 1,
        ...(id === start ? {} : { via: id }),
      })
    }
  }
  return { effects, lost }
}

type Network = { start: string; cables: Links; gateways: ReadonlySet<string> }

/** Returns the effects of the loss of an asset on the network of cables. */
function networkEffects({ start, cables, gateways }: Network, isReplaced: boolean): Map<string, Effect> {
  const effects = new Map<string, Effect>()
  const fromStart = distancesFrom([start], cables)
  if (fromStart.size === 1) return effects
  const sources = [...fromStart.keys()].filter((id) => gateways.has(id) && id !== start)
  const working = sources.length > 0 ? sources : largestPart(start, cables)
  const before = distancesFrom(sources, cables)
  const after = distancesFrom(working, cables, start)
  const isLost = (id: string) => id === start || !after.has(id)
  const hasLostUplink = (id: string) =>
    [...(cables.get(id) ?? [])].some((other) => isLost(other) && (before.get(other) ?? 0) < (before.get(id) ?? 0))
  for (const [id, depth] of fromStart) {
    if (id === start) continue
    if (isLost(id))
      effects.set(id, {
        effect: isReplaced ? 'degraded' : 'affected',
        reason: isReplaced ? 'redundancy' : 'network',
        depth,
      })
    else if (sources.length > 0 && (hasLostUplink(id) || (after.get(id) ?? 0) > (before.get(id) ?? 0)))
      effects.set(id, { effect: 'degraded', reason: 'network', depth })
  }
  return effects
}

/** Returns the number of cables from the nearest source to each asset. Paths do not lead through `except`. */
function distancesFrom(sources: readonly string[], cables: Links, except?: string): Map<string, number> {
  const distances = new Map(sources.map((id) => [id, 0]))
  // The search is breadth-first, because ids are added to the map while the loop iterates over it.
  for (const [id, distance] of distances)
    for (const next of cables.get(id) ?? [])
      if (next !== except && !distances.has(next)) distances.set(next, distance + 1)
  return distances
}

/** Returns the largest group of assets that remains connected without an asset. */
function largestPart(start: string, cables: Links): string[] {
  let largest: string[] = []
  const reached = new Set<string>()
  for (const id of [...(cables.get(start) ?? [])].toSorted()) {
    if (reached.has(id)) continue
    const part = [...distancesFrom([id], cables, start).keys()]
    for (const each of part) reached.add(each)
    // A single device behind the asset is not a network that keeps working.
    if (part.length > largest.length && part.length > 1) largest = part
  }
  return largest
}
