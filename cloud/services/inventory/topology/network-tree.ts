/**
 * The tree of switches. Switches that are connected with each other form a network. The root of a network is the switch with
 * the most connections to other switches. All other switches are below the switch through which the shortest path leads to
 * the root. A network with loops has the same tree on each call, because switches are compared by id in case of doubt.
 */

export type Switch = { id: string; name: string | null; connections: number }

export type NetworkTree = {
  readonly switches: ReadonlyMap<string, Switch>
  readonly parentOf: ReadonlyMap<string, string>
  readonly childrenOf: ReadonlyMap<string, readonly string[]>
  readonly roots: readonly string[]
}

export function networkTree(
  found: readonly Switch[],
  links: readonly (readonly [one: string, other: string])[],
): NetworkTree {
  const switches = new Map(found.map((each) => [each.id, each]))
  const linked = new Map<string, string[]>(found.map(({ id }) => [id, []]))
  for (const [one, other] of links) {
    linked.get(one)?.push(other)
    linked.get(other)?.push(one)
  }
  for (const others of linked.values()) others.sort()
  const rank = (id: string) => (linked.get(id)?.length ?? 0) * 1_000_000 + (switches.get(id)?.connections ?? 0)
  const byRank = [...switches.keys()].toSorted((one, other) => rank(other) - rank(one) || (one < other ? -1 : 1))
  const parentOf = new Map<string, string>()
  const childrenOf = new Map<string, string[]>()
  const roots: string[] = []
  const reached = new Set<string>()
  for (const root of byRank) {
    if (reached.has(root)) continue
    roots.push(root)
    reached.add(root)
    // The search is breadth-first, because ids are added to the queue while the loop iterates over it.
    const queue = [root]
    for (const id of queue) {
      const below = (linked.get(id) ?? []).filter((other) => switches.has(other) && !reached.has(other))
      childrenOf.set(id, below)
      for (const child of below) {
        reached.add(child)
        parentOf.set(child, id)
        queue.push(child)
      }
    }
  }
  return { switches, parentOf, childrenOf, roots }
}

/** Returns a switch and all switches below it. */
export function switchesBelow({ childrenOf }: NetworkTree, id: string): string[] {
  const found = [id]
  for (const each of found) found.push(...(childrenOf.get(each) ?? []))
  return found
}

/** Returns the switches from the root of the network to a switch. */
export function pathToSwitch({ parentOf }: NetworkTree, id: string): string[] {
  const path = [id]
  for (let above = parentOf.get(id); above !== undefined; above = parentOf.get(above)) path.unshift(above)
  return path
}
