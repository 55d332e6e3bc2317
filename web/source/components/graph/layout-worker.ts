import iterate from 'graphology-layout-forceatlas2/iterate.js'
import { type LayoutNews, type LayoutOrder, numbersPerNode } from './layout.ts'

/** How long it works before it shows where things are by now; many are not drawn as quickly. */
const newsEveryMs = { few: 300, many: 1_500 }
const many = 1_000

addEventListener('message', async ({ data }: MessageEvent<LayoutOrder>) => {
  const { nodes, edges, rounds } = data
  const things = nodes.length / numbersPerNode
  const settings = {
    // Keeps what belongs together together, and its members apart.
    linLogMode: true,
    outboundAttractionDistribution: false,
    adjustSizes: false,
    edgeWeightInfluence: 1,
    scalingRatio: 10,
    strongGravityMode: true,
    gravity: 0.05,
    slowDown: 2,
    barnesHutOptimize: things > many,
    barnesHutTheta: 1.2,
  }
  const pause = things > many ? newsEveryMs.many : newsEveryMs.few
  let shownAt = performance.now()
  for (let round = 1; round <= rounds; round++) {
    iterate(settings, nodes, edges)
    const isDone = round === rounds
    if (!isDone && performance.now() - shownAt < pause) continue
    shownAt = performance.now()
    tell({ places: placesIn(nodes), isDone })
  }
})

function placesIn(nodes: Float32Array): Float32Array {
  const places = new Float32Array((nodes.length / numbersPerNode) * 2)
  for (let at = 0, to = 0; at < nodes.length; at += numbersPerNode, to += 2) {
    places[to] = nodes[at] ?? 0
    places[to + 1] = nodes[at + 1] ?? 0
  }
  return places
}

function tell(news: LayoutNews): void {
  postMessage(news, { transfer: [news.places.buffer] })
}
