/**
 * Returns the strongly connected components of a graph (Tarjan's algorithm, without recursion). `targets` contains the targets
 * of the edges of each node. A component comes after all components to which its edges lead.
 */
export function strongComponents(targets: readonly (readonly number[])[]): number[][] {
  const size = targets.length
  const place = new Int32Array(size).fill(-1)
  const low = new Int32Array(size)
  const next = new Int32Array(size)
  const isOpen = new Uint8Array(size)
  const open: number[] = []
  const components: number[][] = []
  let count = 0
  for (let start = 0; start < size; start++) {
    if (place[start] !== -1) continue
    const path = [start]
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      if (place[node] === -1) {
        place[node] = low[node] = count++
        open.push(node)
        isOpen[node] = 1
      }
      const target = targets[node]?.[next[node] ?? 0]
      if (target !== undefined) {
        next[node] = (next[node] ?? 0) + 1
        if (place[target] === -1) path.push(target)
        else if (isOpen[target] === 1) low[node] = Math.min(low[node] ?? 0, place[target] ?? 0)
        continue
      }
      path.pop()
      const above = path.at(-1)
      if (above !== undefined) low[above] = Math.min(low[above] ?? 0, low[node] ?? 0)
      if (low[node] !== place[node]) continue
      const component = open.splice(open.lastIndexOf(node))
      for (const member of component) isOpen[member] = 0
      components.push(component)
    }
  }
  return components
}
