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

/** Waits if the time of the turn of the event loop is used up. */
type YieldTurn = () => Promise<void> | undefined

/** Returns the effect on each asset, without the asset that fails. */
export async function impactOf(input: ImpactInput, yieldTurn: YieldTurn): Promise<Map<string, Effect>> {
  const graph = await graphOf(input, yieldTurn)
  const network = input.mode === 'fails' ? await networkEffects(input, graph.cables, yieldTurn) : new Map()
  const cutOff = [...network].filter(([, { effect }]) => effect === 'affected').map(([id]) => id)
  const replaced = await replacedAssets({ ...input, ...graph, cutOff }, yieldTurn)
  return effectsOf({ ...input, ...graph, network, replaced }, yieldTurn)
}

/**
 * The maximum number of rounds with redundancy. More are needed only if partners depend on each other in a longer chain. Then
 * assets at the end of the chain count as affected although a partner works.
 */
const mostRounds = 50

/** `dependents` and `dependencies` are the two directions of the same relations. */
type Graph = { dependents: Links; dependencies: Links; cables: Links; partners: Links }

/** A connection in one direction is a dependency only for `depends`. For `fails`, the network of cables decides. */
async function graphOf({ relations, mode }: ImpactInput, yieldTurn: YieldTurn): Promise<Graph> {
  const graph: Graph = { dependents: new Map(), dependencies: new Map(), cables: new Map(), partners: new Map() }
  const connected = new Set<string>()
  for (const { subject, predicate, object } of relations) if (predicate === cable) connected.add(`${subject} ${object}`)
  for (const { subject, predicate, object } of relations) {
    await yieldTurn()
    if (subject === object || ignoredPredicates.has(predicate)) continue
    if (predicate === redundancy) addBoth(graph.partners, subject, object)
    else if (predicate === cable) addBoth(graph.cables, subject, object)
    const isAttached = mode === 'depends' && !connected.has(`${object} ${subject}`)
    if (predicate === redundancy || (predicate === cable && !isAttached)) continue
    add(graph.dependents, object, subject)
    add(graph.dependencies, subject, object)
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

type LossInput = { start: string; cutOff: readonly string[] } & Graph

/**
 * Returns the lost assets that a working partner replaces.
 *
 * The first round ignores redundancy, so it loses too many assets: all that depend on the asset that fails, and all that it cuts
 * off from the network. Each further round replaces the assets that have a partner outside of the lost assets. What was lost only
 * because of them is no longer lost, so it can replace its own partners in the next round. `causes` contains one cause of each
 * lost asset. A round examines only the assets whose causes it removes.
 */
async function replacedAssets(input: LossInput, yieldTurn: YieldTurn): Promise<ReadonlySet<string>> {
  const { start, cutOff, dependents, dependencies, partners } = input
  const isCutOff = new Set(cutOff)
  const lostBy = (id: string) => [...(dependents.get(id) ?? []), ...(id === start ? cutOff : [])]
  const causesOf = (id: string) => [...(dependencies.get(id) ?? []), ...(isCutOff.has(id) ? [start] : [])]
  const replaced = new Set<string>()
  const causes = new Map<string, string | undefined>([[start, undefined]])

  /** Adds the assets that are lost because of these lost assets. */
  const spread = async (lost: readonly string[]) => {
    const queue = [...lost]
    for (const id of queue) {
      await yieldTurn()
      if (replaced.has(id)) continue
      for (const each of lostBy(id)) {
        if (causes.has(each)) continue
        causes.set(each, id)
        queue.push(each)
      }
    }
  }

  /** Removes the assets that are lost only because of these assets, and returns them. */
  const restore = async (newlyReplaced: readonly string[]) => {
    const uncertain: string[] = []
    for (const queue of [[...newlyReplaced], uncertain])
      for (const id of queue) {
        await yieldTurn()
        for (const each of lostBy(id))
          if (causes.get(each) === id) {
            causes.delete(each)
            uncertain.push(each)
          }
      }
    const stillLost: string[] = []
    for (const id of uncertain) {
      await yieldTurn()
      const cause = causesOf(id).find((other) => causes.has(other) && !replaced.has(other))
      if (cause === undefined) continue
      causes.set(id, cause)
      stillLost.push(id)
    }
    await spread(stillLost)
    return uncertain.filter((id) => !causes.has(id))
  }

  await spread([start])
  let working = [...partners.keys()].filter((id) => !causes.has(id))
  for (let round = 0; round < mostRounds && working.length > 0; round++) {
    const found = new Set(working.flatMap((id) => [...(partners.get(id) ?? [])]))
    const newlyReplaced = [...found].filter((id) => causes.has(id) && !replaced.has(id))
    for (const id of newlyReplaced) replaced.add(id)
    working = await restore(newlyReplaced)
  }
  return replaced
}

type QueuedAsset = { id: string; depth: number; effect: ImpactEffect }

type EffectInput = Pick<ImpactInput, 'start' | 'mode'> &
  Pick<Graph, 'dependents'> & { network: ReadonlyMap<string, Effect>; replaced: ReadonlySet<string> }

async function effectsOf(
  { start, mode, dependents, network, replaced }: EffectInput,
  yieldTurn: YieldTurn,
): Promise<Map<string, Effect>> {
  const effects = new Map<string, Effect>()
  const queue: QueuedAsset[] = [{ id: start, depth: 0, effect: 'affected' }]
  const record = (id: string, effect: Effect) => {
    const known = effects.get(id)
    if (id === start || (known !== undefined && !(known.effect === 'degraded' && effect.effect === 'affected'))) return
    effects.set(id, effect)
    const isFollowed = effect.effect === 'affected' || (mode === 'depends' && effect.reason !== 'network')
    if (isFollowed) queue.push({ id, depth: effect.depth, effect: effect.effect })
  }
  for (const [id, effect] of network) {
    const isReplaced = effect.effect === 'affected' && (replaced.has(start) || replaced.has(id))
    record(id, isReplaced ? { ...effect, effect: 'degraded', reason: 'redundancy' } : effect)
  }
  for (const { id, depth, effect } of queue) {
    await yieldTurn()
    if (id !== start && effects.get(id)?.effect !== effect) continue
    const isLost = effect === 'affected' && !replaced.has(id)
    for (const dependent of dependents.get(id) ?? []) {
      const isAffected = isLost && !replaced.has(dependent)
      record(dependent, {
        effect: isAffected ? 'affected' : 'degraded',
        reason: isAffected ? 'dependency' : 'redundancy',
        depth: depth + 1,
        ...(id === start ? {} : { via: id }),
      })
    }
  }
  return effects
}

/** Returns the effects of the loss of an asset on the network of cables, without redundancy. */
async function networkEffects(
  { start, gateways }: Pick<ImpactInput, 'start' | 'gateways'>,
  cables: Links,
  yieldTurn: YieldTurn,
): Promise<Map<string, Effect>> {
  const effects = new Map<string, Effect>()
  const distances = (sources: readonly string[], except?: string) =>
    distancesFrom(sources, { cables, except, yieldTurn })
  const fromStart = await distances([start])
  if (fromStart.size === 1) return effects
  const sources = [...fromStart.keys()].filter((id) => gateways.has(id) && id !== start)
  const working = sources.length > 0 ? sources : await largestPart(start, { cables, yieldTurn })
  const before = await distances(sources)
  const after = await distances(working, start)
  const isLost = (id: string) => id === start || !after.has(id)
  const hasLostUplink = (id: string) =>
    [...(cables.get(id) ?? [])].some((other) => isLost(other) && (before.get(other) ?? 0) < (before.get(id) ?? 0))
  for (const [id, depth] of fromStart) {
    await yieldTurn()
    if (id === start) continue
    if (isLost(id)) effects.set(id, { effect: 'affected', reason: 'network', depth })
    else if (sources.length > 0 && (hasLostUplink(id) || (after.get(id) ?? 0) > (before.get(id) ?? 0)))
      effects.set(id, { effect: 'degraded', reason: 'network', depth })
  }
  return effects
}

type Search = { cables: Links; except?: string | undefined; yieldTurn: YieldTurn }

/** Returns the number of cables from the nearest source to each asset. Paths do not lead through `except`. */
async function distancesFrom(
  sources: readonly string[],
  { cables, except, yieldTurn }: Search,
): Promise<Map<string, number>> {
  const distances = new Map(sources.map((id) => [id, 0]))
  // The search is breadth-first, because ids are added to the map while the loop iterates over it.
  for (const [id, distance] of distances) {
    await yieldTurn()
    for (const next of cables.get(id) ?? [])
      if (next !== except && !distances.has(next)) distances.set(next, distance + 1)
  }
  return distances
}

/** Returns the largest group of assets that remains connected without an asset. */
async function largestPart(start: string, { cables, yieldTurn }: Search): Promise<string[]> {
  let largest: string[] = []
  const reached = new Set<string>()
  for (const id of [...(cables.get(start) ?? [])].toSorted()) {
    if (reached.has(id)) continue
    const part = [...(await distancesFrom([id], { cables, except: start, yieldTurn })).keys()]
    for (const each of part) reached.add(each)
    // A single device behind the asset is not a network that keeps working.
    if (part.length > largest.length && part.length > 1) largest = part
  }
  return largest
}
