import type { AssetClass } from '@millwright/api/asset-class.ts'
import type { TopologyEdge, TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { borderPoint, hull, isVisible, overlaps } from './boxes.ts'
import { type Camera, onScreen, type Size } from './camera.ts'
import { classIcon, type MapPalette } from './map-palette.ts'
import { type Box, type CommonParts, distinctName, type Frame, type Scene, type SceneItem } from './scene.ts'

/**
 * Draws the scene on a canvas. What a box shows depends on its size on the screen: a small box has only a colour, a larger one
 * its name and counts, and an open group its inside. A text is never wider than its box, so texts do not overlap.
 */

/** The facts on the card of a group. */
export type MapFact = 'failed' | 'added' | 'changed' | 'removed' | 'failing' | 'selected' | 'affected' | 'degraded'

export type MapTexts = {
  nameOf: (group: TopologyGroup) => string
  assetName: (item: SceneItem) => string
  count: (assets: number) => string
  number: (value: number) => string
  fact: (kind: MapFact, count: number) => string
  predicate: (edge: Pick<TopologyEdge, 'predicate' | 'count'>) => string
  connections: (count: number) => string
}

/** What a failure means for an item. For a group, the numbers count the affected and degraded assets inside it. */
export type ImpactMark = {
  effect: 'failing' | 'selected' | 'affected' | 'degraded'
  affected: number
  degraded: number
}
export type ImpactMarks = ReadonlyMap<string, ImpactMark>

export type MapView = {
  selected: string | undefined
  hovered: string | undefined
  /** Returns whether an item is emphasized. The other items are faded. */
  isEmphasized: (item: SceneItem) => boolean
  /** Whether the changes of groups and assets are shown instead of their reachability. */
  showsChanges: boolean
  /** Whether all assets are loaded. Then the inside of small groups is drawn too. */
  isAll: boolean
  /** The failing, affected and degraded items, and the groups that contain them. */
  marks: ImpactMarks | undefined
}

/** The sizes in pixels from which parts of a box are drawn. */
const sizes = {
  inside: 190,
  insideOfMany: 260,
  insideOfAll: 20,
  openTitle: 70,
  title: 46,
  counts: 76,
  classes: 150,
  icon: 15,
  label: 62,
  smallLabel: 36,
  edge: 60,
  /** The largest number of edges that have a label. */
  countedEdges: 6,
} as const
const fadedAlpha = 0.35

type Canvas = CanvasRenderingContext2D

type Fact = [MapFact, number, string]
const noMark = { effect: undefined, affected: 0, degraded: 0 }

export type PaintOptions = {
  scene: Scene
  camera: Camera
  size: Size
  view: MapView
  palette: MapPalette
  texts: MapTexts
}

/** Returns whether the inside of an item is drawn. */
export function isInsideShown(item: SceneItem, camera: Camera, isAll: boolean): item is SceneItem & { frame: Frame } {
  if (item.frame === undefined) return false
  const { width, height } = onScreen(camera, item.box)
  const needed = isAll ? sizes.insideOfAll : item.frame.items.length > 60 ? sizes.insideOfMany : sizes.inside
  return Math.min(width, height * 1.6) >= needed
}

export function paint(context: Canvas, options: PaintOptions): void {
  const { size, palette, scene } = options
  context.fillStyle = palette.ground
  context.fillRect(0, 0, size.width, size.height)
  context.textBaseline = 'middle'
  const painter = new Painter(context, options)
  painter.frame(scene.root)
  painter.labels()
}

class Painter {
  readonly #context: Canvas
  readonly #options: PaintOptions

  /** The hovered or selected item. */
  readonly #active: SceneItem | undefined
  /** The keys of the items that have an edge to the active item. */
  readonly #linked: ReadonlySet<string>

  constructor(context: Canvas, options: PaintOptions) {
    this.#context = context
    this.#options = options
    const { scene, view } = options
    const active = scene.items.get(view.hovered ?? view.selected ?? '')
    this.#active = active
    const lines = active === undefined ? [] : [...linesOf(active.parent.edges).keys()]
    const ends = lines.filter((line) => active !== undefined && line.includes(endOf(active))).flat()
    this.#linked = new Set(ends.flatMap((end) => active?.parent.byEnd.get(end)?.key ?? []))
  }

  frame(frame: Frame): void {
    this.#edges(frame)
    this.#counts(frame)
    this.#highlightedEdges(frame)
    for (const item of frame.items) {
      const box = onScreen(this.#options.camera, item.box)
      if (isVisible(box, this.#options.size)) this.#item(item, box)
    }
  }

  /** Draws the labels of the edges of the hovered item. A label that would cover an item or another label is left out. */
  labels(): void {
    const { view, scene } = this.#options
    const item = scene.items.get(view.hovered ?? '')
    if (item === undefined) return
    const { camera } = this.#options
    const drawn = item.parent.items.map(({ box }) => onScreen(camera, box))
    for (const { from, to, edges } of this.#edgesOf(item)) this.#edgeLabel(from, to, { edges, drawn })
  }

  /** Draws the edges of the hovered or selected item below the items, so that they do not cover names. */
  #highlightedEdges(frame: Frame): void {
    const { palette } = this.#options
    if (this.#active?.parent !== frame) return
    for (const { from, to } of this.#edgesOf(this.#active))
      this.#line(from, to, { colour: palette.strong, width: 2.5, alpha: 1 })
  }

  #edgesOf(item: SceneItem): { from: Box; to: Box; edges: readonly TopologyEdge[] }[] {
    const end = endOf(item)
    return [...linesOf(item.parent.edges)].flatMap(([line, edges]) => {
      if (!line.includes(end)) return []
      const [from, to] = this.#ends(item.parent, line)
      return from === undefined || to === undefined ? [] : [{ from, to, edges }]
    })
  }

  #ends(frame: Frame, [one, other]: readonly [string, string]): [Box | undefined, Box | undefined] {
    const [from, to] = [frame.byEnd.get(one), frame.byEnd.get(other)]
    const { camera } = this.#options
    return [from && onScreen(camera, from.box), to && onScreen(camera, to.box)]
  }

  #edges(frame: Frame): void {
    const { palette, size, view } = this.#options
    for (const [line, edges] of linesOf(frame.edges)) {
      const [from, to] = this.#ends(frame, line)
      if (from === undefined || to === undefined || Math.max(from.width, to.width) < 6) continue
      if (!isVisible(hull(from, to), size)) continue
      const [one, other] = [frame.byEnd.get(line[0]), frame.byEnd.get(line[1])]
      const isFaded = [one, other].some((item) => item !== undefined && !view.isEmphasized(item))
      const count = edges.reduce((sum, edge) => sum + edge.count, 0)
      const width = Math.min(5, 0.8 + Math.log10(count) * 1.3)
      this.#line(from, to, { colour: palette.edge, width, alpha: isFaded ? 0.12 : 0.5 })
    }
  }

  /** Draws the number of relations next to each edge. With many edges, or without space, only the tooltip contains it. */
  #counts(frame: Frame): void {
    const { palette, texts, camera } = this.#options
    const lines = linesOf(frame.edges)
    if (lines.size > sizes.countedEdges || this.#active?.parent === frame) return
    this.#font(11, 500)
    const boxes = frame.items.map(({ box }) => onScreen(camera, box))
    for (const [line, edges] of lines) {
      const [from, to] = this.#ends(frame, line)
      if (from === undefined || to === undefined) continue
      const [a, b] = [borderPoint(from, to), borderPoint(to, from)]
      const text = texts.connections(edges.reduce((sum, edge) => sum + edge.count, 0))
      const width = this.#context.measureText(text).width
      const [x, y] = [(a.x + b.x) / 2 + 7, (a.y + b.y) / 2]
      if (boxes.some((box) => overlaps({ x, y: y - 5, width, height: 10 }, box))) continue
      this.#text(text, { x, y: y + 0.5, width: width + 1, colour: palette.quiet })
    }
  }

  #line(from: Box, to: Box, { colour, width, alpha }: { colour: string; width: number; alpha: number }): void {
    const context = this.#context
    const [a, b] = [borderPoint(from, to), borderPoint(to, from)]
    context.save()
    context.globalAlpha = alpha
    context.strokeStyle = colour
    context.lineWidth = width
    context.beginPath()
    context.moveTo(a.x, a.y)
    context.lineTo(b.x, b.y)
    context.stroke()
    context.restore()
  }

  #edgeLabel(from: Box, to: Box, { edges, drawn }: { edges: readonly TopologyEdge[]; drawn: Box[] }): void {
    const { palette, texts } = this.#options
    const [a, b] = [borderPoint(from, to), borderPoint(to, from)]
    if (Math.hypot(a.x - b.x, a.y - b.y) < sizes.edge) return
    const text = edges.map(texts.predicate).join(' · ')
    this.#font(11, 500)
    const width = this.#context.measureText(text).width + 12
    const [x, y] = [(a.x + b.x) / 2 - width / 2, (a.y + b.y) / 2 - 10]
    const box = { x, y, width, height: 20 }
    if (drawn.some((other) => overlaps(box, other))) return
    drawn.push(box)
    this.#box(box, { radius: 10, fill: palette.card, stroke: palette.strong })
    this.#text(text, { x: x + 6, y: y + 10, width: width - 12, colour: palette.text })
  }

  #item(item: SceneItem, box: Box): void {
    const context = this.#context
    const { view, camera } = this.#options
    context.save()
    if (!view.isEmphasized(item)) context.globalAlpha = fadedAlpha
    if (item.group === undefined) this.#asset(item, box)
    else if (isInsideShown(item, camera, view.isAll)) {
      this.#open(item, item.group, box)
      context.restore()
      this.frame(item.frame)
      if (box.height < sizes.openTitle) this.#smallTitle(item, item.group, box)
      return
    } else this.#card(item, item.group, box)
    context.restore()
  }

  /** Draws an open group: its border and title. The items inside are drawn later. */
  #open(item: SceneItem, group: TopologyGroup, box: Box): void {
    const { palette, texts } = this.#options
    this.#box(box, {
      radius: 8,
      fill: palette.raised,
      stroke: this.#borderOf(item),
      width: this.#isMarked(item) ? 3 : 1,
    })
    if (box.width < sizes.openTitle || box.height < sizes.openTitle) return
    const height = Math.min(box.height * 0.14, 40)
    const size = Math.max(13, Math.min(17, height * 0.5))
    const middle = box.y + Math.max(11, box.height * 0.075)
    const pad = Math.max(8, box.width * 0.025)
    this.#font(size, 650)
    const count = texts.count(group.assets)
    const room = box.width - pad * 2
    const titleWidth = this.#text(distinctName(texts.nameOf(group), commonOf(item)), {
      x: box.x + pad,
      y: middle,
      width: room * 0.6,
      colour: palette.text,
    })
    this.#font(Math.max(11, size * 0.8), 400)
    const countRoom = room - titleWidth - 110
    const isShort = this.#context.measureText(count).width > countRoom
    const used = this.#text(isShort ? texts.number(group.assets) : count, {
      x: box.x + pad + titleWidth + 10,
      y: middle + 0.5,
      width: countRoom,
      colour: palette.quiet,
    })
    const left = room - titleWidth - used - 20
    if (left > 60) {
      const width = Math.min(140, left - 8)
      this.#bar(item, group, { x: box.x + box.width - pad - width, y: middle - 3, width, height: 6 })
    }
  }

  /** Draws the title of an open group that has no space for a title line, over the items inside. */
  #smallTitle(item: SceneItem, group: TopologyGroup, box: Box): void {
    if (box.width < sizes.title || box.height < 24) return
    const { palette, texts } = this.#options
    this.#font(11, 650)
    const name = distinctName(texts.nameOf(group), commonOf(item))
    const width = Math.min(box.width - 8, this.#context.measureText(name).width + 10)
    this.#box(
      { x: box.x + 4, y: box.y + 4, width, height: 16 },
      { radius: 4, fill: palette.card, stroke: palette.line },
    )
    this.#text(name, { x: box.x + 9, y: box.y + 12.5, width: width - 9, colour: palette.text })
  }

  /** Draws a closed group as a card. */
  #card(item: SceneItem, group: TopologyGroup, box: Box): void {
    const { palette, texts, view } = this.#options
    const isSmall = box.width < sizes.title || box.height < 24
    this.#box(box, {
      radius: Math.min(8, box.width * 0.06),
      fill: isSmall ? (this.#markColour(item.key) ?? this.#colourOf(group)) : palette.card,
      stroke: this.#borderOf(item),
      width: this.#isMarked(item) ? 3 : 1,
    })
    if (isSmall) return
    const pad = Math.max(5, Math.min(14, box.width * 0.07))
    const size = Math.max(10, Math.min(17, box.height * 0.17, box.width * 0.11))
    const room = box.width - pad * 2
    let y = box.y + pad + size * 0.6
    this.#font(size, 650)
    this.#text(distinctName(texts.nameOf(group), commonOf(item)), {
      x: box.x + pad,
      y,
      width: room,
      colour: group.assets === 0 ? palette.quiet : palette.text,
    })
    y += size * 1.35
    const hasCounts = box.width >= sizes.counts && box.height > size * 3.6 + pad
    const barHeight = Math.max(3, Math.min(8, size * 0.45))
    const bottom = box.y + box.height - 3
    const hasFacts = hasCounts && y + size * 2.7 < bottom
    if (hasCounts) {
      this.#font(Math.max(10, size * 0.82), 400)
      const used = this.#text(texts.count(group.assets), { x: box.x + pad, y, width: room, colour: palette.quiet })
      const failed = view.showsChanges ? 0 : group.reachability.failed
      if (!hasFacts && failed > 0) this.#failedCount(failed, { right: box.x + pad + room, y, width: room - used - 8 })
      y += size * 1.15
    }
    if (group.assets > 0 && y + barHeight < bottom)
      this.#bar(item, group, { x: box.x + pad, y: y - barHeight / 2, width: room, height: barHeight })
    y += size * 0.9
    if (hasFacts) y = this.#facts(this.#factsOf(item, group), { x: box.x + pad, y, width: room, size })
    const iconSize = Math.min(20, size * 1.15)
    if (box.width >= sizes.classes && y + iconSize < box.y + box.height - pad * 0.4)
      this.#classes(group, { x: box.x + pad, y, width: room, height: iconSize })
  }

  /** Draws the number of unreachable assets at the right, without words. */
  #failedCount(failed: number, { right, y, width }: { right: number; y: number; width: number }): void {
    const { palette, texts } = this.#options
    const label = texts.number(failed)
    const needed = this.#context.measureText(label).width
    if (needed + 9 > width) return
    this.#context.fillStyle = palette.failed
    this.#context.beginPath()
    this.#context.arc(right - needed - 6, y, 2.5, 0, Math.PI * 2)
    this.#context.fill()
    this.#text(label, { x: right - needed, y, width: needed + 1, colour: palette.text })
  }

  #factsOf({ key }: SceneItem, group: TopologyGroup): Fact[] {
    const { palette, view } = this.#options
    const { added, changed, removed } = group.changes
    if (view.marks !== undefined) {
      const { effect, affected, degraded } = view.marks.get(key) ?? noMark
      return [
        ['failing', effect === 'failing' ? 1 : 0, palette.failed],
        ['selected', effect === 'selected' ? 1 : 0, palette.strong],
        ['affected', affected, palette.failed],
        ['degraded', degraded, palette.changed],
      ]
    }
    return [
      ['failed', view.showsChanges ? 0 : group.reachability.failed, palette.failed],
      ['added', added, palette.added],
      ['changed', changed, palette.changed],
      ['removed', removed, palette.removed],
    ]
  }

  /** Draws the facts that are not 0. Returns the vertical position below them. */
  #facts(kinds: Fact[], { x, y, width, size }: { x: number; y: number; width: number; size: number }): number {
    const { palette, texts } = this.#options
    const facts = kinds.filter(([, count]) => count > 0)
    if (facts.length === 0) return y
    this.#font(Math.max(10, size * 0.8), 600)
    let left = x
    for (const [kind, count, colour] of facts) {
      if (left - x > width - 24) break
      const dot = Math.max(4, size * 0.32)
      this.#context.fillStyle = colour
      this.#context.beginPath()
      this.#context.arc(left + dot / 2, y + size * 0.15, dot / 2, 0, Math.PI * 2)
      this.#context.fill()
      left += dot + 4
      const fact = texts.fact(kind, count)
      const room = width - (left - x)
      // Without space for the words, the colour of the dot defines the meaning of the number.
      const shown = this.#context.measureText(fact).width <= room ? fact : texts.number(count)
      left += this.#text(shown, { x: left, y: y + size * 0.15, width: room, colour: palette.text })
      left += 12
    }
    return y + size * 1.05
  }

  #classes(group: TopologyGroup, { x, y, width, height }: Box): void {
    const { palette, texts } = this.#options
    this.#font(Math.max(10, height * 0.62), 400)
    let left = x
    for (const { class: each, assets } of group.classes) {
      const label = texts.number(assets)
      const needed = height + 3 + this.#context.measureText(label).width + 10
      if (left + needed - 10 > x + width) return
      this.#icon(each, { x: left, y, size: height, colour: palette.quiet })
      this.#text(label, { x: left + height + 3, y: y + height / 2 + 0.5, width: needed, colour: palette.quiet })
      left += needed
    }
  }

  #asset(item: SceneItem, box: Box): void {
    const { palette, texts } = this.#options
    const { asset } = item
    if (asset === undefined) return
    const colour = this.#stateColour(item)
    if (box.width < sizes.icon || box.height < 9) {
      this.#context.fillStyle = colour
      this.#context.fillRect(box.x, box.y, box.width, box.height)
      return
    }
    this.#box(box, {
      radius: Math.min(6, box.width * 0.08),
      fill: this.#isSource(item) ? colour : palette.card,
      stroke: this.#borderOf(item),
      width: this.#isMarked(item) ? 3 : 1,
    })
    const bar = Math.max(2, Math.min(6, box.width * 0.05))
    this.#context.fillStyle = colour
    this.#context.beginPath()
    this.#context.roundRect(box.x, box.y, bar, box.height, [
      Math.min(6, box.width * 0.08),
      0,
      0,
      Math.min(6, box.width * 0.08),
    ])
    this.#context.fill()
    const hasLabel = box.width >= sizes.label && box.height >= 24
    if (!hasLabel && box.width >= sizes.smallLabel && box.height >= 16) {
      this.#smallAsset(item, { ...box, x: box.x + bar, width: box.width - bar })
      return
    }
    const icon = hasLabel
      ? Math.min(22, box.height * 0.55, box.width * 0.2)
      : Math.min(box.width - bar - 2, box.height) * 0.72
    const x = hasLabel ? box.x + bar + 6 : box.x + bar + (box.width - bar - icon) / 2
    this.#icon(asset.class, {
      x,
      y: box.y + (box.height - icon) / 2,
      size: icon,
      colour: this.#isSource(item) ? palette.card : palette.text,
    })
    if (!hasLabel) return
    const size = Math.max(10, Math.min(14, box.height * 0.26))
    this.#font(size, 500)
    const room = box.x + box.width - (x + icon + 6) - 5
    this.#text(distinctName(texts.assetName(item), commonOf(item)), {
      x: x + icon + 6,
      y: box.y + box.height / 2 + 0.5,
      width: room,
      colour: this.#isSource(item) ? palette.card : palette.text,
      isEnd: true,
    })
  }

  /** Draws the name of an asset whose box is too small for the icon and the name side by side, with the icon above it. */
  #smallAsset(item: SceneItem, box: Box): void {
    const { palette, texts } = this.#options
    const hasIcon = box.height >= 25
    const icon = box.height * 0.4
    if (hasIcon)
      this.#icon(item.asset?.class ?? 'other', {
        x: box.x + (box.width - icon) / 2,
        y: box.y + 2,
        size: icon,
        colour: this.#isSource(item) ? palette.card : palette.text,
      })
    this.#font(10, 500)
    const name = shortened(this.#context, distinctName(texts.assetName(item), commonOf(item)), {
      width: box.width - 4,
      isEnd: true,
    })
    const width = this.#context.measureText(name).width
    const y = hasIcon ? box.y + box.height - 6.5 : box.y + box.height / 2 + 0.5
    this.#text(name, {
      x: box.x + (box.width - width) / 2,
      y,
      width: width + 1,
      colour: this.#isSource(item) ? palette.card : palette.text,
    })
  }

  /** Returns whether the question of the shown impact is about this asset. */
  #isSource({ key }: SceneItem): boolean {
    const effect = this.#options.view.marks?.get(key)?.effect
    return effect === 'failing' || effect === 'selected'
  }

  #stateColour({ key, asset }: SceneItem): string {
    const { palette, view } = this.#options
    if (asset === undefined) return palette.unknown
    if (view.marks !== undefined) return this.#markColour(key) ?? palette.unknown
    if (view.showsChanges) return asset.change === undefined ? palette.unknown : palette[asset.change]
    return palette[asset.reachability_state]
  }

  /** Returns the colour of a group that is too small for its card. */
  #colourOf({ reachability, changes }: TopologyGroup): string {
    const { palette, view } = this.#options
    if (view.showsChanges) {
      if (changes.removed > 0) return palette.removed
      if (changes.changed > 0) return palette.changed
      return changes.added > 0 ? palette.added : palette.unknown
    }
    if (reachability.failed > 0) return palette.failed
    return reachability.reached > 0 ? palette.reached : palette.unknown
  }

  #isMarked({ key }: SceneItem): boolean {
    const { selected, hovered, marks } = this.#options.view
    return key === selected || key === hovered || this.#linked.has(key) || marks?.has(key) === true
  }

  #borderOf({ key }: SceneItem): string {
    const { palette, view } = this.#options
    if (key === view.hovered || (key === view.selected && view.marks === undefined)) return palette.strong
    return this.#markColour(key) ?? (this.#linked.has(key) ? palette.strong : palette.line)
  }

  #markColour(key: string): string | undefined {
    const { palette, view } = this.#options
    const mark = view.marks?.get(key)
    if (mark === undefined) return undefined
    if (mark.effect === 'selected') return palette.strong
    return mark.effect === 'degraded' ? palette.changed : palette.failed
  }

  /** Draws the shares of the assets of a group by impact, by change or by reachability. */
  #bar({ key }: SceneItem, group: TopologyGroup, box: Box): void {
    const { palette, view } = this.#options
    if (view.marks !== undefined) {
      const { affected, degraded } = view.marks.get(key) ?? noMark
      this.#shares(box, [
        [affected, palette.failed],
        [degraded, palette.changed],
        [Math.max(0, group.assets - affected - degraded), palette.line],
      ])
    } else if (view.showsChanges) this.#changes(group, box)
    else this.#health(group, box)
  }

  /** Draws the shares of reachable, unreachable and unknown assets as a bar. */
  #health({ reachability: { reached, failed, unknown } }: TopologyGroup, box: Box): void {
    const { palette } = this.#options
    this.#shares(box, [
      [failed, palette.failed],
      [reached, palette.reached],
      [unknown, palette.unknown],
    ])
  }

  #changes({ assets, changes: { added, changed, removed } }: TopologyGroup, box: Box): void {
    const { palette } = this.#options
    this.#shares(box, [
      [added, palette.added],
      [changed, palette.changed],
      [removed, palette.removed],
      [Math.max(0, assets - added - changed), palette.line],
    ])
  }

  #shares(box: Box, shares: readonly (readonly [number, string])[]): void {
    const context = this.#context
    const total = shares.reduce((sum, [share]) => sum + share, 0)
    context.save()
    context.beginPath()
    context.roundRect(box.x, box.y, box.width, box.height, box.height / 2)
    context.clip()
    context.fillStyle = this.#options.palette.line
    context.fillRect(box.x, box.y, box.width, box.height)
    let { x } = box
    for (const [share, colour] of shares) {
      if (share === 0) continue
      const width = Math.max(2, (share / total) * box.width)
      context.fillStyle = colour
      context.fillRect(x, box.y, width, box.height)
      x += width
    }
    context.restore()
  }

  #icon(assetClass: AssetClass, { x, y, size, colour }: { x: number; y: number; size: number; colour: string }): void {
    if (size < 5) return
    const context = this.#context
    const icon = classIcon(assetClass)
    context.save()
    context.translate(x, y)
    context.scale(size / icon.size, size / icon.size)
    context.fillStyle = colour
    for (const { path, isEvenOdd } of icon.paths) context.fill(path, isEvenOdd ? 'evenodd' : 'nonzero')
    context.restore()
  }

  #box(
    box: Box,
    { radius, fill, stroke, width = 1 }: { radius: number; fill: string; stroke: string; width?: number },
  ): void {
    const context = this.#context
    context.beginPath()
    context.roundRect(box.x, box.y, box.width, box.height, Math.max(0, radius))
    context.fillStyle = fill
    context.fill()
    context.strokeStyle = stroke
    context.lineWidth = width
    context.stroke()
  }

  #font(size: number, weight: number): void {
    this.#context.font = `${weight} ${size}px ${this.#options.palette.font}`
  }

  /**
   * Draws a text that is at most `width` pixels wide, and returns its width. A longer text is shortened: at the start with
   * `isEnd`, because names of assets differ at their end, and otherwise at the end.
   */
  #text(
    text: string,
    { x, y, width, colour, isEnd }: { x: number; y: number; width: number; colour: string; isEnd?: boolean },
  ): number {
    const context = this.#context
    if (width < 8) return 0
    context.fillStyle = colour
    const shown = shortened(context, text, { width, isEnd: isEnd === true })
    context.fillText(shown, x, y)
    return context.measureText(shown).width
  }
}

const shortenedTexts = new Map<string, string>()
const maxShortenedTexts = 5_000

/** Returns the text, or its longest part that fits. Results are kept, because measuring is slow. */
function shortened(context: Canvas, text: string, { width, isEnd }: { width: number; isEnd: boolean }): string {
  const key = `${context.font} ${Math.round(width)} ${isEnd} ${text}`
  const known = shortenedTexts.get(key)
  if (known !== undefined) return known
  let shown = text
  if (context.measureText(text).width > width) {
    let [low, high] = [0, text.length]
    const part = (length: number) => (isEnd ? `…${text.slice(text.length - length)}` : `${text.slice(0, length)}…`)
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (context.measureText(part(middle)).width <= width) low = middle
      else high = middle - 1
    }
    shown = low === 0 ? '' : part(low)
  }
  if (shortenedTexts.size >= maxShortenedTexts) shortenedTexts.clear()
  shortenedTexts.set(key, shown)
  return shown
}

/** The names of the unnamed and of the group of the rest are texts of the console, and have nothing in common. */
function commonOf({ group, asset, parent }: SceneItem): CommonParts {
  if (group?.name) return parent.common.groups
  return asset?.name ? parent.common.assets : { start: 0, end: 0 }
}

function endOf({ group, asset }: SceneItem): string {
  return group?.key ?? asset?.id ?? ''
}

const linesOfEdges = new WeakMap<readonly TopologyEdge[], Map<readonly [string, string], TopologyEdge[]>>()

/** Returns the edges by their two ends, without regard to their direction, so that each line is drawn once. */
function linesOf(edges: readonly TopologyEdge[]): Map<readonly [string, string], TopologyEdge[]> {
  const known = linesOfEdges.get(edges)
  if (known !== undefined) return known
  const ends = new Map<string, readonly [string, string]>()
  const lines = new Map<readonly [string, string], TopologyEdge[]>()
  for (const edge of edges) {
    const pair = [edge.from, edge.to].toSorted() as [string, string]
    const line = ends.get(pair.join(' ')) ?? pair
    ends.set(pair.join(' '), line)
    lines.set(line, [...(lines.get(line) ?? []), edge])
  }
  linesOfEdges.set(edges, lines)
  return lines
}
