import type { AssetClass } from '@millwright/api/asset-class.ts'
import {
  changeKinds,
  restKey,
  type TopologyEdge,
  type TopologyGroup,
} from '@millwright/api/inventory/topology-groups.ts'
import type { Camera, Size } from './camera.ts'
import { drawIcon } from './canvas-shapes.ts'
import { shortened } from './canvas-text.ts'
import { type ChangeTexts, changeTexts } from './change-texts.ts'
import type { Box, Point } from './geometry.ts'
import { linesOf } from './lines.ts'
import type { MapPalette } from './map-palette.ts'
import { type CommonParts, distinctName } from './names.ts'
import { isBold, type Problem, type ProblemFact, type ProblemTexts, problemTexts, worstProblem } from './problems.ts'
import type { Scene, SceneItem } from './scene.ts'
import { groupKey } from './scene-keys.ts'

/**
 * `MapPen` draws the parts of the map that several items have: boxes, texts, lines, bars, badges and icons. It knows which items are
 * marked or highlighted, and their colours.
 */

/** The facts on the card of a group. */
export type MapFact = ProblemFact | 'failing' | 'selected' | 'affected' | 'degraded'

export type MapTexts = ProblemTexts &
  ChangeTexts & {
    nameOf: (group: TopologyGroup) => string
    assetName: (item: SceneItem) => string
    count: (
      group: Pick<TopologyGroup, 'assets' | 'kind' | 'type' | 'children' | 'addressed' | 'place' | 'self'>,
    ) => string
    /** The name of a group for a small box, without the number of its switches. */
    shortNameOf: (group: TopologyGroup) => string
    /** The number of switches of a network, or of assets of another group. */
    shortCount: (group: TopologyGroup) => string
    /** The number of switches of a group. */
    switches: (group: Pick<TopologyGroup, 'children'>) => string
    coreSwitchRole: string
    /** The problem of a core switch itself. */
    ownFact: (problem: 'failed' | 'outdated') => string
    assets: (assets: number) => string
    className: (assetClass: AssetClass, count: number) => string
    more: (count: number) => string
    number: (value: number) => string
    fact: (kind: MapFact, count: number) => string
    /** Where a group is, from the longest to the shortest text. */
    detail: (item: Pick<SceneItem, 'group'>) => string[] | undefined
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
  /** The key of the current group. */
  place: string
  /** Returns whether an item is emphasized. The other items are faded. */
  isEmphasized: (item: SceneItem) => boolean
  /** Whether the changes of groups and assets are shown instead of their reachability. */
  showsChanges: boolean
  /** Whether the results of monitoring are known. */
  hasMonitoring: boolean
  /** Whether the texts of groups contain only problems, without a usual share of outdated assets. */
  hasOnlyProblems: boolean
  /** The names of the unreachable devices in the group of the rest, if they are known. */
  unreachableNames: readonly string[]
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
  text: 12,
  cluster: 60,
  edge: 60,
  /** The space between boxes from which lines are drawn that nothing points at, and the largest number of lines between assets. */
  tracedGap: 13,
  tracedLines: 8,
  /** The largest number of lines that have a label. */
  countedLines: 12,
} as const
export const fadedAlpha = 0.6
/** The part of the colour of a change in the ground of a card. */
const tintAlpha = 0.13

export type Canvas = CanvasRenderingContext2D

type LineStyle = { colour: string; width: number; alpha: number }

/** The edge of a group with a problem. The edge of a last known state is broken. */
export type EdgeStyle = { colour: string; isBroken: boolean }

/** A part of the text about a group. */
export type Word = {
  text: string
  colour: string
  weight: number
  /** The mark before the text, like the edge of a group. */
  mark?: EdgeStyle | undefined
}
type WordCounts = Pick<TopologyGroup, 'assets' | 'monitoring' | 'stopped' | 'stoppedRead' | 'outdated' | 'changes'> & {
  changeKinds?: TopologyGroup['changeKinds'] | undefined
}
/** The length of a part of a broken edge with its gap in pixels, the part of it that is drawn, and the space at the ends of the edge. */
const edgeStep = 10
const edgePart = 0.6
const edgeInset = 2
/** The width of the dot between two words, with its space, and of the mark before a word, with and without its space. */
const separatorWidth = 10
const mark = { width: 4, space: 8 } as const
export const noChanges = { added: 0, changed: 0, removed: 0 }
const noMark = { effect: undefined, affected: 0, degraded: 0 }

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
  protected readonly average: number

  constructor(context: Canvas, options: PaintOptions) {
    this.context = context
    this.options = options
    const { scene, view } = options
    // A shown impact has its own colours, so it highlights only what the pointer is at.
    const groups = scene.root.items.flatMap(({ group }) => group ?? [])
    const sumOf = (key: 'assets' | 'outdated') => groups.reduce((sum, group) => sum + group[key], 0)
    this.average = sumOf('outdated') / Math.max(1, sumOf('assets'))
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

  /** Draws the state of a group as the left edge of its card. The edge of a last known state is broken. */
  protected edge(box: Box, { colour, isBroken }: EdgeStyle): void {
    this.context.fillStyle = colour
    if (isBroken) {
      this.brokenEdge(box, 4)
      return
    }
    this.context.beginPath()
    this.context.roundRect(box.x, box.y, 4, box.height, [3, 0, 0, 3])
    this.context.fill()
  }

  /** Draws the left edge of a box as a broken line in the current colour. */
  protected brokenEdge({ x, y, height }: Box, width: number): void {
    const parts = Math.max(2, Math.round(height / edgeStep))
    const step = (height - 2 * edgeInset) / (parts - 1 + edgePart)
    for (let part = 0; part < parts; part++)
      this.context.fillRect(x, y + edgeInset + part * step, width, step * edgePart)
  }

  /**
   * Draws the numbers of assets by class, with words if there is space for all of them. The last entry counts the assets of
   * the classes that have no space, so that the numbers add up to the number of assets. With `isNamed`, it draws nothing
   * without space for the words.
   */
  protected classes(
    group: Pick<TopologyGroup, 'classes'>,
    box: Box,
    { size, isNamed = false }: { size: number; isNamed?: boolean },
  ): void {
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
    const areNamed = place(long).length === long.length
    if (isNamed && !areNamed) return
    const labels = areNamed ? long : short
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
    if (asset.stopped) return asset.stoppedRead ? palette.stopped : palette.stoppedKnown
    if (asset.outdated) return palette.outdated
    return asset.monitoring === 'reachable' ? palette.reached : palette.unknown
  }

  /** Returns the colour of the edge of a group: its most frequent change, or its most important exceptional problem. */
  protected colourOf(group: TopologyGroup): string {
    const { palette, view } = this.options
    if (view.showsChanges) return palette[mainChange(group.changes) ?? 'unknown']
    const problem = worstProblem(group, this.average)
    return problem === 'none' ? palette.unknown : palette[problem]
  }

  /** Returns the sign of a problem. */
  protected signOf(problem: ProblemFact): EdgeStyle {
    return { colour: this.options.palette[problem], isBroken: problem === 'stoppedKnown' }
  }

  /** Returns whether the state of a group or asset is only the last known one. */
  protected isLastKnown({ key, group, asset }: SceneItem): boolean {
    const { view } = this.options
    if (view.showsChanges || view.marks?.has(key) === true) return false
    if (group !== undefined) return worstProblem(group, this.average) === 'stoppedKnown'
    return asset?.stopped === true && asset.stoppedRead !== true && asset.monitoring !== 'unreachable'
  }

  /** Returns the texts about a group, from the longest to the shortest: an impact, its changes or its problems. */
  protected wordsOf(key: string, group: WordCounts): Word[][] {
    const { palette, view, texts } = this.options
    if (view.marks !== undefined) return this.impactWords(view.marks.get(key) ?? noMark)
    if (view.showsChanges)
      return changeTexts(group, texts).map((parts) =>
        parts.map((text) => ({ text, colour: palette.text, weight: 650 })),
      )
    const { hasMonitoring, hasOnlyProblems } = view
    const names = key === groupKey(restKey) ? view.unreachableNames : []
    // Without usual shares, the share of a box is not compared with the numbers of other boxes.
    const hasShare = hasOnlyProblems
    const options = { average: this.average, hasMonitoring, hasShare, hasOnlyProblems, names, texts }
    return problemTexts(group, options).map((parts) =>
      parts.map(({ problem, text, isExceptional, isMarked = false }) => ({
        text,
        colour:
          problem === 'failed'
            ? palette.alarm
            : isQuiet(problem, isExceptional || isMarked)
              ? palette.quiet
              : palette.text,
        weight: isBold({ isExceptional, isMarked }) ? 650 : 400,
        mark: isMarked && problem !== 'unmonitored' && problem !== 'none' ? this.signOf(problem) : undefined,
      })),
    )
  }

  protected impactWords({
    effect,
    affected,
    degraded,
  }: Omit<ImpactMark, 'effect'> & { effect: ImpactMark['effect'] | undefined }): Word[][] {
    const { palette, texts } = this.options
    const word = (text: string, colour = palette.text): Word => ({ text, colour, weight: 650 })
    const words = [
      ...(effect === 'failing' ? [word(texts.fact('failing', 1), palette.alarm)] : []),
      ...(effect === 'selected' ? [word(texts.fact('selected', 1))] : []),
      ...(affected > 0 ? [word(texts.fact('affected', affected), palette.alarm)] : []),
      ...(degraded > 0 ? [word(texts.fact('degraded', degraded))] : []),
    ]
    return words.length === 0 ? [] : [words, words.slice(0, 1)]
  }

  /** Draws the longest text that fits, and returns its width. With `isRight`, `x` is its right end. */
  protected words(
    choices: readonly (readonly Word[])[],
    { x, y, width, size, isRight = false }: { x: number; y: number; width: number; size: number; isRight?: boolean },
  ): number {
    const shown = choices.find((words) => this.widthOf(words, size) <= width)
    if (shown === undefined) return 0
    const used = this.widthOf(shown, size)
    let left = isRight ? x - used : x
    for (const [index, word] of shown.entries()) {
      // Marks separate the words that have them.
      if (index > 0 && (word.mark === undefined || shown[index - 1]?.mark === undefined)) {
        this.font(size, 400)
        this.text('·', { x: left - separatorWidth / 2 - 2, y, width: 10, colour: this.options.palette.quiet })
      }
      const own = this.#wordWidth(word, size)
      if (word.mark !== undefined) {
        this.context.fillStyle = word.mark.colour
        const box = { x: left, y: y - size / 2, width: mark.width, height: size }
        if (word.mark.isBroken) this.brokenEdge(box, box.width)
        else this.context.fillRect(box.x, box.y, box.width, box.height)
      }
      const at = word.mark === undefined ? left : left + mark.space
      this.text(word.text, { x: at, y, width: left + own + 1 - at, colour: word.colour })
      left += own + separatorWidth
    }
    return used
  }

  /** Draws the longest of some texts that fits. With `isRight`, `x` is its right end. */
  protected longest(
    choices: readonly string[],
    {
      x,
      y,
      width,
      size,
      isRight = false,
      colour = this.options.palette.quiet,
    }: { x: number; y: number; width: number; size: number; isRight?: boolean; colour?: string },
  ): void {
    this.font(size, 400)
    const shown = choices.find((text) => this.context.measureText(text).width <= width)
    if (shown === undefined) return
    const own = this.context.measureText(shown).width
    this.text(shown, { x: isRight ? x - own : x, y, width: own + 1, colour })
  }

  protected widthOf(words: readonly Word[], size: number): number {
    return words.reduce((sum, word) => sum + this.#wordWidth(word, size) + separatorWidth, -separatorWidth)
  }

  #wordWidth({ text, weight, mark: own }: Word, size: number): number {
    this.font(size, weight)
    return this.context.measureText(text).width + (own === undefined ? 0 : mark.space)
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

/** Returns whether a problem has a pale text: outdated assets with a usual share, and no known problem. */
function isQuiet(problem: Problem, isExceptional: boolean): boolean {
  return !isExceptional && problem !== 'stoppedKnown'
}

/** Returns the most frequent change. */
function mainChange(changes: TopologyGroup['changes']): (typeof changeKinds)[number] | undefined {
  const [most] = changeKinds.toSorted((one, other) => changes[other] - changes[one])
  return most === undefined || changes[most] === 0 ? undefined : most
}

export function isOnScreen({ x, y }: Point, size: Size): boolean {
  return x >= 0 && y >= 0 && x <= size.width && y <= size.height
}

export function endOf({ group, asset }: SceneItem): string {
  return group?.key ?? asset?.id ?? ''
}
