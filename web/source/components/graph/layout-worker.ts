import iterate from 'graphology-layout-forceatlas2/iterate.js'
import { type LayoutRequest, type LayoutUpdate, numbersPerNode } from './layout.ts'

/**
 * The time between two intermediate results. It is longer for graphs with many nodes, because drawing them takes
 * longer.
 */
const updateIntervalMs = { few: 300, many: 1_500 }
const many = 1_000

addEventListener('message', async ({ data }: MessageEvent<LayoutRequest>) => {
  const { nodes, edges, iterations } = data
  const nodeCount = nodes.length / numbersPerNode
  const settings = {
    // The LinLog model, which makes clusters easier to recognize.
    linLogMode: true,
    outboundAttractionDistribution: false,
    adjustSizes: false,
    edgeWeightInfluence: 1,
    scalingRatio: 10,
    strongGravityMode: true,
    gravity: 0.05,
    slowDown: 2,
    barnesHutOptimize: nodeCount > many,
    barnesHutTheta: 1.2,
  }
  const pause = nodeCount > many ? updateIntervalMs.many : updateIntervalMs.few
  let shownAt = performance.now()
  for (let round = 1; round <= iterations; round++) {
    iterate(settings, nodes, edges)
    const isDone = round === iterations
    if (!isDone && performance.now() - shownAt < pause) continue
    shownAt = performance.now()
    postUpdate({ positions: positionsIn(nodes), isDone })
  }
})

function positionsIn(nodes: Float32Array): Float32Array {
  const positions = new Float32Array((nodes.length / numbersPerNode) * 2)
  for (let at = 0, to = 0; at < nodes.length; at += numbersPerNode, to += 2) {
    positions[to] = nodes[at] ?? 0
    positions[to + 1] = nodes[at + 1] ?? 0
  }
  return positions
}

function postUpdate(update: LayoutUpdate): void {
  postMessage(update, { transfer: [update.positions.buffer] })
}
