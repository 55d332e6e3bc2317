import { MultiDirectedGraph } from 'graphology'
import Sigma from 'sigma'
import {
  drawStraightEdgeLabel,
  EdgeArrowProgram,
  EdgeLineProgram,
  NodeCircleProgram,
  NodePointProgram,
} from 'sigma/rendering'
import type { Settings } from 'sigma/settings'
import type { EdgeDisplayData, NodeDisplayData } from 'sigma/types'
import type { Language } from '../../app/language/language.ts'
import { type ColourScheme, entryOf, type LegendEntry } from './graph-colours.ts'
import { emptyGraph, type GraphData, keyOf, labelOf } from './graph-data.ts'
import { drawHover, drawLabel, type Palette, paletteOf } from './graph-palette.ts'
import { LabelSpace } from './label-space.ts'
import { initialPositions, iterationsFor, type LayoutUpdate, layoutRequestOf } from './layout.ts'
import { predicateName } from './predicate-name.ts'

/** `GraphAppearance` contains the display options of the graph, but not its data. */
export type GraphAppearance = {
  scheme: ColourScheme
  legend: readonly LegendEntry[]
  selected: string | undefined
  /** The key of the main node of the graph. */
  root: string | undefined
  /** The keys of the nodes and the ids of the relations that are emphasized. If undefined, everything is emphasized. */
  emphasis: ReadonlySet<string> | undefined
  language: Language
}

export type RendererEvents = {
  onSelect: (key: string | undefined) => void
  onSettled: (isSettled: boolean) => void
}

type NodeAttributes = { x: number; y: number; size: number; label: string; entry: string }
type EdgeAttributes = { label: string }
type DisplayedGraph = MultiDirectedGraph<NodeAttributes, EdgeAttributes>

/** The maximum number of relations in a graph that shows labels of relations. */
const maxEdgeLabels = 80
/**
 * The maximum number of relations in a graph that draws them as arrows. In a larger graph, relations are drawn as
 * lines.
 */
const maxArrows = 1_500
/**
 * The maximum number of nodes of a graph that is always shown completely. In such a graph, the camera does not move to
 * a single node.
 */
const maxVisibleNodes = 150

/** `GraphRenderer` draws a graph into an element, and updates the drawing when the data changes. */
export class GraphRenderer {
  readonly #sigma: Sigma<NodeAttributes, EdgeAttributes>
  readonly #container: HTMLElement
  readonly #events: RendererEvents
  readonly #theme: MutationObserver
  readonly #labels = new LabelSpace()
  #palette: Palette
  #appearance: GraphAppearance
  #data: GraphData = emptyGraph
  #graph: DisplayedGraph = new MultiDirectedGraph()
  #worker: Worker | undefined
  #frame = 0

  constructor(container: HTMLElement, appearance: GraphAppearance, events: RendererEvents) {
    this.#container = container
    this.#events = events
    this.#appearance = appearance
    this.#palette = paletteOf(container)
    this.#sigma = new Sigma(this.#graph, container, this.#settings())
    this.#sigma.on('beforeRender', () => this.#labels.clear())
    this.#sigma.on('clickNode', ({ node }) => events.onSelect(node))
    this.#sigma.on('clickStage', () => events.onSelect(undefined))
    this.#sigma.on('enterNode', () => container.classList.add('graph-pointing'))
    this.#sigma.on('leaveNode', () => container.classList.remove('graph-pointing'))
    this.#theme = new MutationObserver(() => this.#recolour())
    this.#theme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-ix-color-schema'] })
  }

  dispose(): void {
    cancelAnimationFrame(this.#frame)
    this.#worker?.terminate()
    this.#theme.disconnect()
    this.#sigma.kill()
  }

  /** Shows new data. Nodes that were already shown keep their positions. */
  show(data: GraphData, appearance: GraphAppearance): void {
    this.#appearance = appearance
    this.#data = data
    const positions = this.#positionsFor(data)
    this.#graph = displayedGraphOf(data, positions, appearance)
    // The graph is drawn in a separate frame, so that building and drawing the graph do not block the page for too
    // long.
    cancelAnimationFrame(this.#frame)
    this.#frame = requestAnimationFrame(() => this.#draw())
  }

  #draw(): void {
    const { size, order } = this.#graph
    const isLarge = size > maxArrows
    this.#sigma.setSettings({
      renderEdgeLabels: size <= maxEdgeLabels,
      defaultEdgeType: isLarge ? 'line' : 'arrow',
      defaultNodeType: isLarge ? 'point' : 'circle',
      hideEdgesOnMove: isLarge,
      ...labelsFor(order),
    })
    this.#sigma.setGraph(this.#graph)
    this.#runLayout()
  }

  repaint(appearance: GraphAppearance): void {
    const isRecoloured = appearance.legend !== this.#appearance.legend
    this.#appearance = appearance
    if (isRecoloured) this.#assignEntries()
    this.#sigma.refresh({ schedule: true })
  }

  /** Moves the camera to a node. */
  focusOn(key: string): void {
    if (this.#graph.order <= maxVisibleNodes) return
    // The camera moves after the next rendering, because the display position of a node is known only then.
    this.#sigma.once('afterRender', () => {
      const place = this.#sigma.getNodeDisplayData(key)
      if (place === undefined) return
      const camera = this.#sigma.getCamera()
      const ratio = Math.min(camera.ratio, Math.max(0.08, 12 / Math.sqrt(this.#graph.order + 1)), 1)
      camera.animate({ x: place.x, y: place.y, ratio }, { duration: motionMs() })
    })
    this.#sigma.scheduleRender()
  }

  zoom(direction: 'in' | 'out' | 'all'): void {
    const camera = this.#sigma.getCamera()
    const options = { duration: motionMs() }
    if (direction === 'in') camera.animatedZoom(options)
    else if (direction === 'out') camera.animatedUnzoom(options)
    else camera.animatedReset(options)
  }

  /** Updates the legend entry of each node. */
  #assignEntries(): void {
    const { scheme, legend } = this.#appearance
    this.#graph.forEachNode((key, attributes) => {
      const node = this.#data.nodes.get(key)
      if (node !== undefined) attributes.entry = entryOf(node, scheme, legend)
    })
  }

  #positionsFor(data: GraphData) {
    const positions = new Map<string, { x: number; y: number }>()
    this.#graph.forEachNode((key, { x, y }) => positions.set(key, { x, y }))
    return initialPositions([...data.nodes.keys()], linksOf(data), positions)
  }

  /** Starts the layout in a worker and applies its intermediate results. */
  #runLayout(): void {
    this.#worker?.terminate()
    const { order, size } = this.#graph
    const isPlaced = order < 2 || size === 0
    this.#events.onSettled(isPlaced)
    if (isPlaced) return
    const placed = this.#graph.mapNodes((key, { x, y, size }) => ({ key, x, y, size }))
    const links = this.#graph.mapEdges((_edge, _attributes, source, target) => ({ source, target }))
    const worker = new Worker(new URL('./layout-worker.ts', import.meta.url), { type: 'module' })
    this.#worker = worker
    worker.addEventListener('message', ({ data }: MessageEvent<LayoutUpdate>) => this.#applyLayout(data))
    const message = layoutRequestOf(placed, links, iterationsFor(order))
    worker.postMessage(message, [message.nodes.buffer, message.edges.buffer])
  }

  #applyLayout({ positions, isDone }: LayoutUpdate): void {
    let at = 0
    // The attributes are set directly. Setting them through the graph would cause an event and a redraw for each node.
    this.#graph.forEachNode((_key, attributes) => {
      attributes.x = positions[at++] ?? 0
      attributes.y = positions[at++] ?? 0
    })
    this.#sigma.refresh({ partialGraph: { nodes: this.#graph.nodes() }, schedule: true })
    if (!isDone) return
    this.#worker?.terminate()
    this.#worker = undefined
    this.#events.onSettled(true)
    if (this.#graph.order <= maxVisibleNodes) this.zoom('all')
    else if (this.#appearance.selected !== undefined) this.focusOn(this.#appearance.selected)
  }

  #recolour(): void {
    this.#palette = paletteOf(this.#container)
    this.#sigma.setSettings(this.#settings())
  }

  #settings(): Partial<Settings<NodeAttributes, EdgeAttributes>> {
    const { text, quiet, font } = this.#palette
    return {
      allowInvalidContainer: true,
      labelColor: { color: text },
      labelFont: font,
      labelSize: 12,
      labelWeight: '500',
      labelRenderedSizeThreshold: 5,
      edgeLabelColor: { color: quiet },
      edgeLabelFont: font,
      edgeLabelSize: 11,
      zIndex: true,
      nodeProgramClasses: { point: NodePointProgram, circle: NodeCircleProgram },
      edgeProgramClasses: { line: EdgeLineProgram, arrow: EdgeArrowProgram },
      minCameraRatio: 0.01,
      maxCameraRatio: 3,
      defaultDrawNodeLabel: (context, data, settings) => {
        drawLabel(context, data, { settings, palette: this.#palette })
        if (data.label) this.#labels.addNode(data, context.measureText(data.label).width, settings.labelSize)
      },
      defaultDrawEdgeLabel: (context, data, source, target, settings) => {
        if (!data.label) return
        context.font = `${settings.edgeLabelWeight} ${settings.edgeLabelSize}px ${settings.edgeLabelFont}`
        const moved = this.#labels.placeEdge(source, target, context.measureText(data.label).width)
        if (moved === undefined) return
        drawStraightEdgeLabel(context, data, { ...source, ...moved.source }, { ...target, ...moved.target }, settings)
      },
      defaultDrawNodeHover: (context, data, settings) => drawHover(context, data, { settings, palette: this.#palette }),
      nodeReducer: (key, attributes) => this.#nodeDisplay(key, attributes),
      edgeReducer: (id, attributes) => this.#edgeDisplay(id, attributes),
    }
  }

  #nodeDisplay(key: string, attributes: NodeAttributes): Partial<NodeDisplayData> {
    const { selected, root, emphasis, legend } = this.#appearance
    const colour = legend.find(({ value }) => value === attributes.entry)?.colour
    const base = { ...attributes, color: this.#palette.colour(colour), zIndex: 1 }
    if (key === selected) return { ...base, size: attributes.size + 3, highlighted: true, forceLabel: true, zIndex: 3 }
    if (key === root) return { ...base, size: attributes.size + 3, forceLabel: true, zIndex: 2 }
    if (emphasis === undefined) return base
    if (emphasis.has(key)) return { ...base, zIndex: 2, forceLabel: emphasis.size < 40 }
    return { ...base, color: this.#palette.faded, label: null, zIndex: 0 }
  }

  #edgeDisplay(id: string, { label }: EdgeAttributes): Partial<EdgeDisplayData> {
    const { emphasis } = this.#appearance
    const { edge, faded, strong } = this.#palette
    const base = { label, size: this.#graph.size > maxArrows ? 1 : 2, color: edge, zIndex: 0 }
    if (emphasis === undefined) return base
    if (emphasis.has(id)) return { ...base, color: strong, size: 3, zIndex: 1 }
    return { ...base, color: faded, label: '' }
  }
}

function linksOf({ edges }: GraphData) {
  return [...edges.values()].map(({ subject, object }) => ({ source: keyOf(subject), target: keyOf(object) }))
}

type Positions = ReadonlyMap<string, { x: number; y: number }>

function displayedGraphOf(data: GraphData, positions: Positions, appearance: GraphAppearance): DisplayedGraph {
  const { scheme, legend, language } = appearance
  const graph: DisplayedGraph = new MultiDirectedGraph()
  const degrees = degreesIn(data)
  const { smallest, growth } = sizesFor(data.nodes.size)
  for (const [key, node] of data.nodes) {
    const { x, y } = positions.get(key) ?? { x: 0, y: 0 }
    const size = smallest + growth * Math.min(8, Math.sqrt(degrees.get(key) ?? 0))
    graph.addNode(key, { x, y, size, label: labelOf(node), entry: entryOf(node, scheme, legend) })
  }
  for (const { id, subject, object, predicate } of data.edges.values()) {
    const [source, target] = [keyOf(subject), keyOf(object)]
    if (!graph.hasNode(source) || !graph.hasNode(target)) continue
    graph.addDirectedEdgeWithKey(id, source, target, { label: predicateName(predicate, language) })
  }
  return graph
}

function sizesFor(nodeCount: number): { smallest: number; growth: number } {
  if (nodeCount > 1_000) return { smallest: 1.2, growth: 0.6 }
  return nodeCount > 200 ? { smallest: 3, growth: 0.8 } : { smallest: 6, growth: 1 }
}

/** Returns the label settings for a graph with this number of nodes. In larger graphs, fewer labels are shown. */
function labelsFor(nodeCount: number): { labelDensity: number; labelGridCellSize: number } {
  if (nodeCount > 500) return { labelDensity: 0.1, labelGridCellSize: 180 }
  return nodeCount > 60 ? { labelDensity: 0.4, labelGridCellSize: 150 } : { labelDensity: 1, labelGridCellSize: 100 }
}

function degreesIn({ edges }: GraphData): Map<string, number> {
  const degrees = new Map<string, number>()
  for (const { subject, object } of edges.values())
    for (const key of [keyOf(subject), keyOf(object)]) degrees.set(key, (degrees.get(key) ?? 0) + 1)
  return degrees
}

function motionMs(): number {
  return matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 400
}
