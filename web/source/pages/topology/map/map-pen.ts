import type { AssetClass } from '@millwright/api/asset-class.ts'
import { changeKinds, type TopologyEdge, type TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { isExceptionalShare } from '../../../components/values/outdated-share.ts'
import type { Camera, Size } from './camera.ts'
import { drawChangeMark, drawIcon, drawShares } from './canvas-shapes.ts'
import { shortened } from './canvas-text.ts'
import type { Box, Point } from './geometry.ts'
import { linesOf } from './lines.ts'
import type { MapPalette } from './map-palette.ts'
import { type CommonParts, distinctName } from './names.ts'
import type { Scene, SceneItem } from './scene.ts'

/**
 * `MapPen` draws the parts of the map that several items have: boxes, texts, lines, bars, badges and icons. It knows which items are
 * marked or highlighted, and their colours.
 */

/** The facts on the card of a group. */
export type MapFact =
  | 'failed'
  | 'outdated'
  | 'added'
  | 'changed'
  | 'removed'
  | 'failing'
  | 'selected'
  | 'affected'
  | 'degraded'

export type MapTexts = {
  nameOf: (group: TopologyGroup) => string
  assetName: (item: SceneItem) => string
  count: (group: Pick<TopologyGroup, 'assets' | 'kind' | 'type' | 'children' | 'addressed'>) => string
  /** The name of a group for a small box, and its count that belongs to this name. */
  shortNameOf: (group: TopologyGroup) => string
  shortCount: (group: TopologyGroup) => string
  assets: (assets: number) => string
  className: (assetClass: AssetClass, count: number) => string
  more: (count: number) => string
  number: (value: number) => string
  fact: (kind: MapFact, count: number) => string
  /** The number of a fact without words. */
  factNumber: (kind: MapFact, count: number) => string
  /** The numbers of addresses and assets of a subnet, and the place of most of its assets. */
  addresses: (group: Pick<TopologyGroup, 'assets' | 'addressed'>) => string
  place: (group: Pick<TopologyGroup, 'place'>) => string
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
export const sizes = {
  openTitle: 70,
  title: 40,
  counts: 76,
  classes: 90,
  icon: 15,
  label: 56,
  smallLabel: 42,
  /** The smallest font size of all texts. */
  text: 11,
  /** A card that is lower than this has its count next to its name, or directly below it. */
  compactCard: 58,
  cluster: 60,
  /** The lowest card of a subnet with three lines. */
  subnet: 42,
  edge: 60,
  /** The space between boxes from which lines are drawn that nothing points at, and the largest number of lines between assets. */
  tracedGap: 13,
  tracedLines: 8,
  /** The largest number of lines that have a label. */
  countedLines: 12,
} as const
export const fadedAlpha = 0.35
/** The part of the colour of a change in the ground of a card. */
const tintAlpha = 0.13

export type Canvas = CanvasRenderingContext2D

type LineStyle = { colour: string; width: number; alpha: number }

/** A kind, its number and its colour. The number of `outdated` is the share of the assets, from 0 to 1. */
type Fact = [MapFact, number, string]
type GroupCounts = Pick<TopologyGroup, 'assets' | 'monitoring' | 'outdated' | 'changes'>
export const noChanges = { added: 0, changed: 0, removed: 0 }
/** The size of the bar in front of the share of outdated assets. */
const shareBar = { width: 14, height: 5 } as const
export const noMark = { effect: undefined, affected: 0, degraded: 0 }

export type PaintOptions = {
  scene: Scene
  camera: Camera
  size: Size
  view: MapView
  palette: MapPalette
  texts: MapTexts
}

export class MapPen {
  protected readonly context: Canvas
  protected readonly options: PaintOptions

  /** The hovered or selected item. */
  protected readonly active: SceneItem | undefined
  /** The keys of the items that have an edge to the active item. */
  protected readonly linked: ReadonlySet<string>
  /** The share of outdated assets of the whole map. */
  readonly #share: number

  constructor(context: Canvas, options: PaintOptions) {
    this.context = context
    this.options = options
    const { scene, view } = options
    // A shown impact has its own colours, so it highlights only what the pointer is at.
    const groups = scene.root.items.flatMap(({ group }) => group ?? [])
    const sumOf = (key: 'assets' | 'outdated') => groups.reduce((sum, group) => sum + group[key], 0)
    this.#share = sumOf('outdated') / Math.max(1, sumOf('assets'))
    const active = scene.items.get(view.hovered ?? (view.marks === undefined ? view.selected : undefined) ?? '')
    this.active = active
    const lines = active === undefined ? [] : [...linesOf(active.parent.edges).keys()]
    const ends = lines.filter((line) => active !== undefined && line.includes(endOf(active))).flat()
    this.linked = new Set(ends.flatMap((end) => active?.parent.byEnd.get(end)?.key ?? []))
  }

  /** Draws the icon, the name and, if it is an exception, the state of an asset in one line. */
  protected mainAsset(item: SceneItem, box: Box, font: number): void {
    const { palette, texts, view } = this.options
    const middle = box.y + box.height / 2 - 2
    const mark = view.marks === undefined ? undefined : this.markColour(item.key)
    const isFailed = item.asset?.monitoring === 'unreachable' && view.marks === undefined && !view.showsChanges
    const colour = mark ?? (isFailed ? palette.failed : palette.text)
    drawIcon(this.context, item.asset?.class ?? 'other', { x: box.x, y: middle - 6.5, size: 13, colour })
    this.font(font, 550)
    const name = distinctName(texts.assetName(item), commonOf(item))
    this.text(name, { x: box.x + 18, y: middle + 0.5, width: box.width - 18, colour, isEnd: true })
  }

  /** Tints a card with the colour of its most frequent change. */
  protected tint(box: Box, changes: TopologyGroup['changes'], radius: number): void {
    const { palette, view } = this.options
    const kind = mainChange(changes)
    if (!view.showsChanges || view.marks !== undefined || kind === undefined) return
    const context = this.context
    context.save()
    context.globalAlpha *= tintAlpha
    context.fillStyle = palette[kind]
    context.beginPath()
    context.roundRect(box.x, box.y, box.width, box.height, radius)
    context.fill()
    context.restore()
  }

  /** Draws the numbers of changes at the right, and returns their width. Without space, it draws only the largest. */
  protected badge(
    changes: TopologyGroup['changes'],
    { right, y, room }: { right: number; y: number; room: number },
  ): number {
    const { palette, view } = this.options
    if (!view.showsChanges || view.marks !== undefined) return 0
    const main = mainChange(changes)
    const kinds = changeKinds.filter((kind) => changes[kind] > 0)
    const facts = kinds.map((kind): Fact => [kind, changes[kind], palette[kind]])
    const fits = this.factsWidth(facts) <= room
    const shown = fits ? facts : facts.filter(([kind]) => kind === main)
    return this.factNumbers(shown, { right, y, width: room })
  }

  protected line(route: readonly Point[], style: LineStyle): void {
    this.strokes([route], style)
  }

  /** Draws several lines at once, so that parts that they share are not darker. */
  protected strokes(routes: readonly (readonly Point[])[], { colour, width, alpha }: LineStyle): void {
    const context = this.context
    context.save()
    context.globalAlpha = alpha
    context.strokeStyle = colour
    context.lineWidth = width
    context.lineJoin = 'round'
    context.beginPath()
    for (const route of routes)
      for (const [index, { x, y }] of route.entries()) {
        if (index === 0) context.moveTo(x, y)
        else context.lineTo(x, y)
      }
    context.stroke()
    context.restore()
  }

  /** Draws the state of a group as the left edge of its card. */
  protected edge(box: Box, colour: string): void {
    this.context.fillStyle = colour
    this.context.beginPath()
    this.context.roundRect(box.x, box.y, 4, box.height, [3, 0, 0, 3])
    this.context.fill()
  }

  /** Draws facts at the right as marks with numbers, and returns their width. Without space, it leaves out the last ones. */
  protected factNumbers(
    facts: readonly Fact[],
    { right, y, width }: { right: number; y: number; width: number },
  ): number {
    const { palette } = this.options
    const between = factSpace
    let labels = this.#labelsOf(facts)
    const used = () => widthOf(labels)
    while (labels.length > 0 && used() > width) labels = labels.slice(0, -1)
    let x = right - used()
    for (const { kind, count, label, colour, mark, width: own } of labels) {
      this.mark([kind, count, colour], { x, y, size: mark })
      this.text(label, { x: x + mark + 4, y: y + 0.5, width: own, colour: palette.text })
      x += own + between
    }
    return Math.max(0, used())
  }

  /** Returns the width of facts as marks with numbers. */
  protected factsWidth(facts: readonly Fact[]): number {
    return Math.max(0, widthOf(this.#labelsOf(facts)))
  }

  #labelsOf(facts: readonly Fact[]) {
    this.font(sizes.text, 600)
    return facts.map(([kind, count, colour]) => {
      const label = this.options.texts.factNumber(kind, count)
      const mark = markWidth(kind, sizes.text)
      return { kind, count, label, colour, mark, width: mark + 4 + this.context.measureText(label).width }
    })
  }

  /** Draws the mark of a fact: the sign of a change, the bar of a share, or a dot. `x` is its left end. */
  protected mark([kind, count, colour]: Fact, { x, y, size }: Point & { size: number }): void {
    const { palette } = this.options
    if (isChangeKind(kind)) drawChangeMark(this.context, kind, { x: x + size / 2, y, size, palette })
    else if (kind !== 'outdated') this.dot({ x: x + size / 2, y }, { size, colour })
    else {
      const { width, height } = shareBar
      this.shares({ x, y: y - height / 2, width, height }, [
        [count, colour],
        [1 - count, palette.line],
      ])
    }
  }

  protected dot({ x, y }: Point, { size, colour }: { size: number; colour: string }): void {
    this.context.fillStyle = colour
    this.context.beginPath()
    this.context.arc(x, y, size / 2, 0, Math.PI * 2)
    this.context.fill()
  }

  /** Returns the facts of a group that are not zero: its changes, or the numbers of its assets in each exceptional state. */
  protected countedFacts({ assets, monitoring, outdated, changes }: GroupCounts): Fact[] {
    const { palette, view } = this.options
    const share = assets === 0 ? 0 : outdated / assets
    const all: Fact[] = view.showsChanges
      ? changeKinds.map((kind) => [kind, changes[kind], palette[kind]])
      : [
          ['failed', monitoring.unreachable, palette.failed],
          ['outdated', share, isExceptionalShare(share, this.#share) ? palette.outdated : palette.quiet],
        ]
    return all.filter(([, count]) => count > 0)
  }

  protected factsOf({ key }: SceneItem, group: TopologyGroup): Fact[] {
    const { palette, view } = this.options
    if (view.marks !== undefined) {
      const { effect, affected, degraded } = view.marks.get(key) ?? noMark
      return [
        ['failing', effect === 'failing' ? 1 : 0, palette.failed],
        ['selected', effect === 'selected' ? 1 : 0, palette.strong],
        ['affected', affected, palette.failed],
        ['degraded', degraded, palette.changed],
      ]
    }
    return this.countedFacts(group)
  }

  /** Returns whether groups have a bar. It shows the parts of a change or an impact; states are numbers with words. */
  protected get hasBars(): boolean {
    const { view } = this.options
    return view.showsChanges || view.marks !== undefined
  }

  /** Draws the facts of a group. Returns the vertical position below them. */
  protected facts(
    facts: readonly Fact[],
    { x, y, width, size }: { x: number; y: number; width: number; size: number },
  ): number {
    const { palette, texts } = this.options
    if (facts.length === 0) return y
    const space = 12
    this.font(Math.max(sizes.text, size * 0.8), 600)
    let left = x
    const widthOf = (text: string) => this.context.measureText(text).width
    const needed = facts.reduce(
      (sum, [kind, count]) => sum + markWidth(kind, size) + 4 + widthOf(texts.fact(kind, count)) + space,
      -space,
    )
    for (const [kind, count, colour] of facts) {
      if (left - x > width - 24) break
      const mark = markWidth(kind, size)
      this.mark([kind, count, colour], { x: left, y: y + size * 0.15, size: mark })
      left += mark + 4
      const room = width - (left - x)
      // Without space for the words, the colour of the dot defines the meaning of the number.
      const shown = needed <= width ? texts.fact(kind, count) : texts.factNumber(kind, count)
      left += this.text(shown, { x: left, y: y + size * 0.15, width: room, colour: palette.text })
      left += space
    }
    return y + size * 1.05
  }

  /**
   * Draws the numbers of assets by class, with words if there is space for all of them. The last entry counts the assets of
   * the classes that have no space, so that the numbers add up to the number of assets.
   */
  protected classes(group: Pick<TopologyGroup, 'classes'>, box: Box, size: number): void {
    const { palette, texts } = this.options
    this.font(Math.max(sizes.text, size * 0.62), 400)
    const icon = Math.max(13, size * 0.75)
    const lineHeight = Math.max(17, size * 1.12)
    const widthOf = (text: string) => this.context.measureText(text).width
    const place = (labels: readonly string[]): Point[] => {
      let [x, y] = [box.x, box.y]
      return labels.flatMap((label) => {
        const needed = icon + 3 + widthOf(label)
        if (x > box.x && x + needed > box.x + box.width) [x, y] = [box.x, y + lineHeight]
        if (y + icon > box.y + box.height || x + needed > box.x + box.width) return []
        x += needed + 7
        return [{ x: x - needed - 7, y }]
      })
    }
    const long = group.classes.map(
      ({ class: each, assets }) => `${texts.number(assets)} ${texts.className(each, assets)}`,
    )
    const short = group.classes.map(({ assets }) => texts.number(assets))
    const labels = place(long).length === long.length ? long : short
    let count = place(labels).length
    const rest = () => texts.more(group.classes.slice(count).reduce((sum, { assets }) => sum + assets, 0))
    while (count > 0 && count < labels.length && place([...labels.slice(0, count), rest()]).length <= count) count--
    if (count === 0) return
    const isCut = count < labels.length
    const shown = isCut ? [...labels.slice(0, count), rest()] : labels
    for (const [index, at] of place(shown).entries()) {
      const each = index < count ? group.classes[index]?.class : undefined
      if (each !== undefined) drawIcon(this.context, each, { ...at, size: icon, colour: palette.quiet })
      const x = each === undefined ? at.x : at.x + icon + 3
      this.text(shown[index] ?? '', { x, y: at.y + icon / 2 + 0.5, width: box.width, colour: palette.quiet })
    }
  }

  /** Returns whether the question of the shown impact is about this asset. */
  protected isSource({ key }: SceneItem): boolean {
    const effect = this.options.view.marks?.get(key)?.effect
    return effect === 'failing' || effect === 'selected'
  }

  protected stateColour({ key, asset }: SceneItem): string {
    const { palette, view } = this.options
    if (asset === undefined) return palette.unknown
    if (view.marks !== undefined) return this.markColour(key) ?? palette.unknown
    if (view.showsChanges) return asset.change === undefined ? palette.unknown : palette[asset.change]
    if (asset.monitoring === 'unreachable') return palette.failed
    if (asset.outdated) return palette.outdated
    return asset.monitoring === 'reachable' ? palette.reached : palette.unknown
  }

  /** Returns the colour of the edge of a group: its most frequent change, or whether an asset is unreachable. */
  protected colourOf({ monitoring, changes }: TopologyGroup): string {
    const { palette, view } = this.options
    if (view.showsChanges) return palette[mainChange(changes) ?? 'unknown']
    return monitoring.unreachable > 0 ? palette.failed : palette.unknown
  }

  protected isMarked({ key }: SceneItem): boolean {
    const { selected, hovered, marks } = this.options.view
    return key === selected || key === hovered || this.linked.has(key) || marks?.has(key) === true
  }

  protected borderOf({ key }: SceneItem): string {
    const { palette, view } = this.options
    if (key === view.hovered || (key === view.selected && view.marks === undefined)) return palette.strong
    return this.markColour(key) ?? (this.linked.has(key) ? palette.strong : palette.line)
  }

  protected markColour(key: string): string | undefined {
    const { palette, view } = this.options
    const mark = view.marks?.get(key)
    if (mark === undefined) return undefined
    if (mark.effect === 'selected') return palette.strong
    return mark.effect === 'degraded' ? palette.changed : palette.failed
  }

  /** Draws the shares of the assets of a group by impact or by change. */
  protected bar({ key }: SceneItem, group: TopologyGroup, box: Box): void {
    const { view } = this.options
    if (view.marks !== undefined) {
      const { affected, degraded } = view.marks.get(key) ?? noMark
      this.impactShares(box, { affected, degraded, assets: group.assets })
    } else this.changes(group, box)
  }

  protected impactShares(
    box: Box,
    { affected, degraded, assets }: { affected: number; degraded: number; assets: number },
  ): void {
    const { palette } = this.options
    this.shares(box, [
      [affected, palette.failed],
      [degraded, palette.changed],
      [Math.max(0, assets - affected - degraded), palette.line],
    ])
  }

  protected changes(
    { assets, changes: { added, changed, removed } }: Pick<TopologyGroup, 'assets' | 'changes'>,
    box: Box,
  ): void {
    const { palette } = this.options
    this.shares(box, [
      [added, palette.added],
      [changed, palette.changed],
      [removed, palette.removed],
      [Math.max(0, assets - added - changed), palette.line],
    ])
  }

  protected shares(box: Box, shares: readonly (readonly [number, string])[]): void {
    drawShares(this.context, box, { shares, ground: this.options.palette.line })
  }

  protected box(
    box: Box,
    { radius, fill, stroke, width = 1 }: { radius: number; fill: string; stroke: string; width?: number },
  ): void {
    const context = this.context
    context.beginPath()
    context.roundRect(box.x, box.y, box.width, box.height, Math.max(0, radius))
    context.fillStyle = fill
    context.fill()
    context.strokeStyle = stroke
    context.lineWidth = width
    context.stroke()
  }

  protected font(size: number, weight: number): void {
    this.context.font = `${weight} ${size}px ${this.options.palette.font}`
  }

  /**
   * Draws a text that is at most `width` pixels wide, and returns its width. A longer text is shortened: at the start with
   * `isEnd`, because names of assets differ at their end, and otherwise at the end.
   */
  protected text(
    text: string,
    { x, y, width, colour, isEnd }: { x: number; y: number; width: number; colour: string; isEnd?: boolean },
  ): number {
    const context = this.context
    if (width < 8) return 0
    context.fillStyle = colour
    const shown = shortened(context, text, { width, isEnd: isEnd === true })
    context.fillText(shown, x, y)
    return context.measureText(shown).width
  }
}

/** The names of the unnamed and of the group of the rest are texts of the console, and have nothing in common. */
export function commonOf({ group, asset, parent, cluster }: SceneItem): CommonParts {
  if (group?.name) return parent.common.groups
  if (asset?.name && cluster !== undefined) return cluster.common
  return asset?.name ? parent.common.assets : { start: 0, end: 0 }
}

/** The space between two facts. */
const factSpace = 8

function widthOf(labels: readonly { width: number }[]): number {
  return labels.reduce((sum, each) => sum + each.width + factSpace, -factSpace)
}

/** Returns the width of the mark of a fact next to a text of this size. */
function markWidth(kind: MapFact, size: number): number {
  if (kind === 'outdated') return shareBar.width
  return isChangeKind(kind) ? Math.max(10, size * 0.85) : Math.max(7, size * 0.45)
}

function isChangeKind(kind: MapFact): kind is (typeof changeKinds)[number] {
  return kind === 'added' || kind === 'changed' || kind === 'removed'
}

/** Returns the most frequent change. */
export function mainChange(changes: TopologyGroup['changes']): (typeof changeKinds)[number] | undefined {
  const [most] = changeKinds.toSorted((one, other) => changes[other] - changes[one])
  return most === undefined || changes[most] === 0 ? undefined : most
}

export function isOnScreen({ x, y }: Point, size: Size): boolean {
  return x >= 0 && y >= 0 && x <= size.width && y <= size.height
}

export function endOf({ group, asset }: SceneItem): string {
  return group?.key ?? asset?.id ?? ''
}
