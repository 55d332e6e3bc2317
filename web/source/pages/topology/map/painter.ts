import type { TopologyEdge } from '@millwright/api/inventory/topology-groups.ts'
import { mainClasses } from './asset-order.ts'
import { hull, isVisible, overlaps } from './boxes.ts'
import { onScreen } from './camera.ts'
import { drawChangeMark, drawIcon } from './canvas-shapes.ts'
import { shortened } from './canvas-text.ts'
import { CardPen } from './card-pen.ts'
import type { Box, Point } from './geometry.ts'
import { isInsideShown, isSummarized, isTreeSummarized } from './inside.ts'
import { countOf, laneOf, linesOf, longestPart, routeOf } from './lines.ts'
import { type Canvas, commonOf, endOf, fadedAlpha, isOnScreen, noChanges, type PaintOptions, sizes } from './map-pen.ts'
import { distinctName } from './names.ts'
import { areaOf, type Cluster, type Frame, type SceneItem } from './scene.ts'
import { rootKey } from './scene-keys.ts'

/**
 * Draws the scene on a canvas. What a box shows depends on its size on the screen: a small box has only a colour, a larger one
 * its name and counts, and an open group its inside. A text is never wider than its box, so texts do not overlap.
 */

export function paint(context: Canvas, options: PaintOptions): void {
  const { size, palette, scene } = options
  context.fillStyle = palette.ground
  context.fillRect(0, 0, size.width, size.height)
  context.textBaseline = 'middle'
  const painter = new Painter(context, options)
  painter.frame(scene.root)
  painter.labels()
}

class Painter extends CardPen {
  frame(frame: Frame): void {
    const { camera, size } = this.options
    if (frame.summary !== undefined && isTreeSummarized(frame, camera)) {
      this.#wires(frame.summary.wires.map((points) => ({ from: '', to: '', points })))
      for (const item of frame.summary.items) this.#item(item, onScreen(camera, item.box))
      return
    }
    if (frame.wires === undefined) this.#lines(frame)
    else this.#wires(frame.wires)
    const summarized = new Set(frame.clusters.filter((cluster) => isSummarized(cluster, camera)))
    this.#clusters(frame, summarized)
    this.#highlightedLines(frame)
    for (const item of frame.items) {
      if (item.cluster !== undefined && summarized.has(item.cluster)) continue
      const box = onScreen(camera, item.box)
      if (isVisible(box, size)) this.#item(item, box)
    }
  }

  /** Draws the labels of the lines of the hovered item. A label that would cover an item or another label is left out. */
  labels(): void {
    const { view, scene } = this.options
    const item = scene.items.get(view.hovered ?? '')
    const { camera } = this.options
    // The lines of a summary do not connect the boxes of its switches.
    if (item === undefined || isTreeSummarized(item.parent, camera)) return
    const drawn = item.parent.items.map(({ box }) => onScreen(camera, box))
    for (const { route, edges } of this.#linesOf(item)) this.#edgeLabel(route, { edges, drawn })
  }

  /** Draws the clusters of a frame: a border around the assets of a cell and its name, or a card with the numbers of the cell. */
  #clusters(frame: Frame, summarized: ReadonlySet<Cluster>): void {
    const { camera, palette, size, texts } = this.options
    for (const cluster of frame.clusters) {
      const { name, box: place, total } = cluster
      const box = onScreen(camera, place)
      if (!isVisible(box, size) || box.width < 12) continue
      if (summarized.has(cluster)) {
        this.#summary(cluster, box)
        continue
      }
      this.box(box, { radius: 5, fill: palette.ground, stroke: palette.line })
      if (box.width < sizes.cluster || name === '') continue
      const top = onScreen(camera, areaOf({ key: name, box: place }, false, this.options.scene.unitsPerPixel)).y - box.y
      const font = Math.max(sizes.text, Math.min(15, top * 0.5))
      this.font(font, 650)
      const at = { x: box.x + 8, y: box.y + top / 2 + 1 }
      const used = this.text(name, { ...at, width: box.width - 12, colour: palette.text })
      this.font(Math.max(sizes.text, font * 0.85), 400)
      const count = texts.assets(total.assets)
      this.text(count, { ...at, x: at.x + used + 8, width: box.width - used - 24, colour: palette.quiet })
    }
  }

  /** Draws a cluster as a card: its number of assets, its state, its controllers and switches by name, and its classes. */
  #summary(cluster: Cluster, box: Box): void {
    const { palette, texts, view } = this.options
    const { name, total, items } = cluster
    const context = this.context
    context.save()
    if (!items.some((item) => view.isEmphasized(item))) context.globalAlpha = fadedAlpha
    const effects = items.flatMap(({ key }) => view.marks?.get(key)?.effect ?? [])
    const affected = effects.filter((effect) => effect === 'affected').length
    const isSource = effects.some((effect) => effect === 'failing' || effect === 'selected')
    const degraded = effects.filter((effect) => effect === 'degraded').length
    const mark = isSource || affected > 0 ? palette.failed : degraded > 0 ? palette.changed : undefined
    this.box(box, {
      radius: 6,
      fill: palette.card,
      stroke: mark ?? palette.line,
      width: mark === undefined ? 1 : 3,
    })
    this.tint(box, total.changes, 6)
    const pad = Math.max(6, Math.min(12, box.width * 0.06))
    const size = Math.max(sizes.text, Math.min(15, box.width * 0.085))
    const room = box.width - pad * 2
    let y = box.y + pad + size * 0.55
    this.font(size, 650)
    const used = this.text(name === '' ? texts.assets(total.assets) : name, {
      x: box.x + pad,
      y,
      width: room,
      colour: palette.text,
    })
    const countRoom = room - used - 8
    this.font(Math.max(sizes.text, size * 0.85), 400)
    const count = texts.assets(total.assets)
    if (name !== '' && context.measureText(count).width <= countRoom)
      this.text(count, { x: box.x + pad + used + 8, y, width: countRoom, colour: palette.quiet })
    const bottom = box.y + box.height - 4
    y += size * 1.25
    const effect = isSource
      ? ({ effect: 'failing', affected, degraded } as const)
      : { effect: undefined, affected, degraded }
    const words = view.marks === undefined ? this.wordsOf('', total) : this.impactWords(effect)
    if (words.length > 0 && y + sizes.text / 2 < bottom) {
      this.words(words, { x: box.x + pad, y, width: room, size: sizes.text })
      y += size * 1.2
    }
    y += 3
    const main = items.filter(({ asset }) => asset !== undefined && mainClasses.includes(asset.class))
    // A large card has larger texts.
    const scale = box.height > 185 && box.width > 140 ? 1.12 : 1
    const line = 17 * scale
    // A narrow card has no space for the classes.
    const reserved = room < 90 ? 0 : line
    const named = main.slice(0, Math.max(0, Math.min(3, Math.floor((bottom - y - reserved) / line))))
    for (const item of named) {
      this.mainAsset(item, { x: box.x + pad, y, width: room, height: line }, sizes.text * scale)
      y += line
    }
    const keys = new Set(named.map(({ key }) => key))
    const others = total.classes.flatMap(({ class: each, assets }) => {
      const shown = items.filter(({ key, asset }) => keys.has(key) && asset?.class === each).length
      return assets > shown ? [{ class: each, assets: assets - shown }] : []
    })
    const height = bottom - 3 - y
    if (height >= 12)
      this.classes({ classes: others }, { x: box.x + pad, y, width: room, height }, { size: 17.5 * scale })
    context.restore()
  }

  #pointOf(point: Point): Point {
    const { x, y } = onScreen(this.options.camera, { ...point, width: 0, height: 0 })
    return { x, y }
  }

  /** Draws the lines of a tree of switches. */
  #wires(wires: NonNullable<Frame['wires']>): void {
    const { camera, palette, scene, view } = this.options
    const kinds = Map.groupBy(wires, ({ from, to }) => {
      if (this.active !== undefined && [from, to].includes(this.active.key)) return 'active'
      const items = [from, to].flatMap((key) => scene.items.get(key) ?? [])
      return items.every(view.isEmphasized) ? 'normal' : 'faded'
    })
    const width = Math.max(2, Math.min(2.25, camera.scale * 1.5))
    const styles = {
      faded: { colour: palette.edge, width, alpha: 0.2 },
      normal: { colour: palette.edge, width, alpha: 1 },
      active: { colour: palette.strong, width: 2.5, alpha: 1 },
    } as const
    for (const kind of ['faded', 'normal', 'active'] as const)
      this.strokes(
        (kinds.get(kind) ?? []).map(({ points }) => points.map((point) => this.#pointOf(point))),
        styles[kind],
      )
  }

  /** Draws the lines of the hovered or selected item. */
  #highlightedLines(frame: Frame): void {
    const { palette } = this.options
    if (this.active?.parent !== frame || frame.wires !== undefined) return
    for (const { route } of this.#linesOf(this.active))
      this.line(route, { colour: palette.strong, width: 2.5, alpha: 1 })
  }

  #linesOf(item: SceneItem): { route: Point[]; edges: readonly TopologyEdge[] }[] {
    const end = endOf(item)
    let index = 0
    const lines = linesOf(item.parent.edges)
    return [...lines].flatMap(([line, edges]) => {
      index++
      if (!line.includes(end)) return []
      const route = this.#routeOf(item.parent, line, lines.size === 1 ? undefined : index - 1)
      return route === undefined ? [] : [{ route, edges }]
    })
  }

  /** Returns the way of a line on the screen. Between two clusters, it leads from cluster to cluster. */
  #routeOf(frame: Frame, [one, other]: readonly [string, string], index: number | undefined): Point[] | undefined {
    const [from, to] = [frame.byEnd.get(one), frame.byEnd.get(other)]
    if (from === undefined || to === undefined) return undefined
    const { camera } = this.options
    const isInside = from.cluster === to.cluster
    const gap = isInside ? (from.cluster?.gap ?? frame.gap) : frame.gap
    const boxOf = (item: SceneItem) => onScreen(camera, isInside ? item.box : (item.cluster?.box ?? item.box))
    const [a, b] = [boxOf(from), boxOf(to)]
    if (Math.max(a.width, b.width) < 6 || !isVisible(hull(a, b), this.options.size)) return undefined
    return routeOf(a, b, {
      gap: { x: gap.x * camera.scale, y: gap.y * camera.scale * camera.stretch },
      // A single line starts in the middle of its box.
      lane: index === undefined ? 0.5 : laneOf(index),
    })
  }

  #lines(frame: Frame): void {
    const { palette, view, camera, size } = this.options
    const lines = linesOf(frame.edges)
    // Lines that cannot be traced, or whose ends are not visible, are drawn only for the item that the pointer is at.
    const isHidden = frame.areLinesHidden && (frame.key === rootKey || frame.key !== view.place)
    if (view.marks !== undefined || isHidden || frame.gap.y * camera.scale < sizes.tracedGap) return
    const counted: { route: Point[]; count: number }[] = []
    let index = 0
    for (const [line, edges] of lines) {
      const route = this.#routeOf(frame, line, lines.size === 1 ? undefined : index++)
      if (route === undefined) continue
      if (![route[0], route.at(-1)].every((end) => end !== undefined && isOnScreen(end, size))) continue
      const ends = [frame.byEnd.get(line[0]), frame.byEnd.get(line[1])]
      const [cluster, other] = ends.map((item) => item?.cluster)
      const isAssets = ends.every((item) => item?.asset !== undefined)
      if (isAssets && (cluster === undefined || cluster === other) && lines.size > sizes.tracedLines) continue
      const isFaded = ends.some((item) => item !== undefined && !view.isEmphasized(item))
      const count = countOf(edges)
      const isAsset = ends.every((item) => item?.asset !== undefined)
      const width = Math.min(5, 1.4 + Math.log10(count) * 1.3)
      this.line(route, {
        colour: palette.edge,
        width: isAsset ? 1 : width,
        alpha: isFaded ? 0.15 : isAsset ? 0.6 : 0.8,
      })
      if (!isAsset) counted.push({ route, count })
    }
    if (lines.size <= sizes.countedLines && this.active?.parent !== frame)
      this.#counts(
        counted,
        [...frame.byEnd.values()].map(({ box }) => onScreen(camera, box)),
      )
  }

  /** Draws the number of connections on each level line, or next to it. Without space, only the tooltip contains it. */
  #counts(counted: readonly { route: Point[]; count: number }[], items: readonly Box[]): void {
    const { palette, texts } = this.options
    this.font(sizes.text, 500)
    const drawn = [...items]
    for (const { route, count } of counted) {
      const { from, to, length } = longestPart(route)
      const text = texts.connections(count)
      const width = this.context.measureText(text).width + 6
      const isLevel = from.y === to.y
      if (isLevel && width > length) continue
      const middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 }
      const box = { x: isLevel ? middle.x - width / 2 : middle.x + 4, y: middle.y - 6, width, height: 12 }
      if (drawn.some((other) => overlaps(box, other))) continue
      drawn.push(box)
      if (isLevel) this.box(box, { radius: 4, fill: palette.card, stroke: palette.card })
      this.text(text, { x: box.x + 3, y: middle.y + 0.5, width, colour: palette.text })
    }
  }

  #edgeLabel(route: Point[], { edges, drawn }: { edges: readonly TopologyEdge[]; drawn: Box[] }): void {
    const { palette, texts } = this.options
    const { from, to, length } = longestPart(route)
    if (length < sizes.edge) return
    const text = edges.map(texts.predicate).join(' · ')
    this.font(11, 500)
    const width = this.context.measureText(text).width + 12
    const [x, y] = [(from.x + to.x) / 2 - width / 2, (from.y + to.y) / 2 - 10]
    const box = { x, y, width, height: 20 }
    if (drawn.some((other) => overlaps(box, other))) return
    drawn.push(box)
    this.box(box, { radius: 10, fill: palette.card, stroke: palette.strong })
    this.text(text, { x: x + 6, y: y + 10, width: width - 12, colour: palette.text })
  }

  #item(item: SceneItem, box: Box): void {
    const context = this.context
    const { view, camera } = this.options
    context.save()
    if (!view.isEmphasized(item)) context.globalAlpha = fadedAlpha
    if (item.group === undefined) this.#asset(item, box)
    else if (isInsideShown(item, camera, view.isAll)) {
      this.openGroup(item, item.group, box)
      context.restore()
      this.frame(item.frame)
      if (box.height < sizes.openTitle) this.smallTitle(item, item.group, box)
      return
    } else this.card(item, item.group, box)
    context.restore()
  }

  #asset(item: SceneItem, box: Box): void {
    const { palette, texts } = this.options
    const { asset } = item
    if (asset === undefined) return
    const colour = this.stateColour(item)
    const isBroken = this.isLastKnown(item)
    if (box.width < sizes.icon || box.height < 9) {
      this.context.fillStyle = this.context.strokeStyle = colour
      this.context.lineWidth = 1
      // A hollow box is a last known state.
      if (isBroken) this.context.strokeRect(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1)
      else this.context.fillRect(box.x, box.y, box.width, box.height)
      return
    }
    this.box(box, {
      radius: Math.min(6, box.width * 0.08),
      fill: this.isSource(item) ? colour : palette.card,
      stroke: this.borderOf(item),
      width: this.isMarked(item) ? 3 : 1,
    })
    if (asset.change !== undefined) this.tint(box, { ...noChanges, [asset.change]: 1 }, Math.min(6, box.width * 0.08))
    const bar = Math.max(2, Math.min(6, box.width * 0.05))
    const corner = Math.min(6, box.width * 0.08)
    this.context.fillStyle = colour
    this.context.beginPath()
    if (isBroken) this.brokenEdge(box, bar)
    else this.context.roundRect(box.x, box.y, bar, box.height, [corner, 0, 0, corner])
    this.context.fill()
    const hasLabel = box.width >= sizes.label && box.height >= 10
    if (!hasLabel && box.width >= sizes.smallLabel && box.height >= 16) {
      this.#smallAsset(item, { ...box, x: box.x + bar, width: box.width - bar })
      return
    }
    const icon = hasLabel
      ? Math.min(22, box.height * 0.62, box.width * 0.22)
      : Math.min(box.width - bar - 2, box.height) * 0.72
    const inset = Math.min(6, box.width * 0.05)
    const x = hasLabel ? box.x + bar + inset : box.x + bar + (box.width - bar - icon) / 2
    const y = box.y + (box.height - icon) / 2
    if (this.options.view.showsChanges && asset.change !== undefined && this.options.view.marks === undefined)
      drawChangeMark(this.context, asset.change, { x: x + icon / 2, y: y + icon / 2, size: icon, palette })
    else
      drawIcon(this.context, asset.class, {
        x,
        y,
        size: icon,
        colour: this.isSource(item) ? palette.card : palette.text,
      })
    if (!hasLabel) return
    const size = Math.max(sizes.text, Math.min(14, box.height * 0.3))
    this.font(size, 500)
    const room = box.x + box.width - (x + icon + inset) - 1
    const name = distinctName(texts.assetName(item), commonOf(item))
    if (this.context.measureText(name).width > room) this.font(sizes.text, 500)
    this.text(name, {
      x: x + icon + inset,
      y: box.y + box.height / 2 + 0.5,
      width: room,
      colour: this.isSource(item) ? palette.card : palette.text,
      isEnd: true,
    })
  }

  /** Draws the name of an asset whose box is too small for the icon and the name side by side, with the icon above it. */
  #smallAsset(item: SceneItem, box: Box): void {
    const { palette, texts } = this.options
    const hasIcon = box.height >= 25
    const icon = box.height * 0.4
    if (hasIcon)
      drawIcon(this.context, item.asset?.class ?? 'other', {
        x: box.x + (box.width - icon) / 2,
        y: box.y + 2,
        size: icon,
        colour: this.isSource(item) ? palette.card : palette.text,
      })
    this.font(sizes.text, 500)
    const name = shortened(this.context, distinctName(texts.assetName(item), commonOf(item)), {
      width: box.width - 4,
      isEnd: true,
    })
    const width = this.context.measureText(name).width
    const y = hasIcon ? box.y + box.height - 6.5 : box.y + box.height / 2 + 0.5
    this.text(name, {
      x: box.x + (box.width - width) / 2,
      y,
      width: width + 1,
      colour: this.isSource(item) ? palette.card : palette.text,
    })
  }
}
