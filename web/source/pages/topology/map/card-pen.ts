import type { TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { onScreen } from './camera.ts'
import { nameLines } from './canvas-text.ts'
import type { Box } from './geometry.ts'
import { commonOf, MapPen, sizes } from './map-pen.ts'
import { distinctName } from './names.ts'
import { areaOf, type SceneItem } from './scene.ts'

/** The largest size of the texts of a card, and the height of a line in relation to it. */
const largestText = 16
const lineHeight = 1.3
/** The smallest height of a line, and the space above and below the lines. */
const lowestLine = 14
const around = 3
/** The space between two texts in one line. */
const gap = 10

/** `CardPen` draws groups: a closed group as a card with texts, and the border and title of an open group. */
export class CardPen extends MapPen {
  /** Draws the border and the title of an open group. The items inside are drawn later. */
  protected openGroup(item: SceneItem, group: TopologyGroup, box: Box): void {
    const { palette, texts, camera, view, scene } = this.options
    this.box(box, {
      radius: 8,
      fill: palette.raised,
      stroke: this.borderOf(item),
      width: this.isMarked(item) ? 3 : 1,
    })
    if (box.width < sizes.openTitle || box.height < sizes.openTitle) return
    const top = onScreen(camera, areaOf({ key: item.key, box: item.box }, view.isAll, scene.unitsPerPixel)).y - box.y
    const size = Math.max(sizes.text, Math.min(17, top * 0.55))
    const middle = box.y + Math.max(size * 0.8, top / 2 + 1)
    const pad = Math.max(10, Math.min(20, box.width * 0.03))
    const room = box.width - pad * 2
    const x = box.x + pad
    this.font(size, 650)
    const name = distinctName(texts.nameOf(group), commonOf(item))
    const used = this.text(name, { x, y: middle, width: room * 0.7, colour: palette.text })
    const small = Math.max(sizes.text, size * 0.8)
    const choices = this.wordsOf(item.key, group)
    // The number of switches of a network is more important than the share of the outdated assets.
    const words = this.words(group.kind === 'switch' && choices.length > 1 ? choices.slice(1) : choices, {
      x: x + room,
      y: middle + 0.5,
      width: room - used - gap,
      size: small,
      isRight: true,
    })
    const left = room - used - words - gap * 2
    const counts = view.showsChanges ? [] : [texts.count(group), texts.shortCount(group)]
    this.#longest(counts, {
      x: x + used + gap,
      y: middle + 0.5,
      width: left,
      size: small,
    })
  }

  /** Draws the title of a small open group into the space above the items inside. */
  protected smallTitle(item: SceneItem, group: TopologyGroup, box: Box): void {
    if (box.width < sizes.title || box.height < 30) return
    const { palette, texts } = this.options
    const top = Math.min(...(item.frame?.items ?? []).map(({ box: inner }) => onScreen(this.options.camera, inner).y))
    const room = Math.min(top, box.y + box.height) - box.y
    if (room < 9) return
    const size = Math.min(sizes.text, room - 3)
    const [x, y, width] = [box.x + 8, box.y + room / 2, box.width - 16]
    this.font(size, 650)
    const name = distinctName(texts.nameOf(group), commonOf(item))
    const used = this.text(name, { x, y, width, colour: palette.text })
    const words = this.words(this.wordsOf(item.key, group), {
      x: x + width,
      y,
      width: width - used - gap,
      size,
      isRight: true,
    })
    const counts = this.options.view.showsChanges ? [] : [texts.assets(group.assets)]
    this.#longest(counts, { x: x + used + gap, y, width: width - used - words - gap * 2, size })
  }

  /** Draws a closed group as a card. */
  protected card(item: SceneItem, group: TopologyGroup, box: Box): void {
    const { palette } = this.options
    const isSmall = box.width < sizes.title || box.height < 14
    const radius = Math.min(8, box.width * 0.06, box.height * 0.2)
    const colour = group.assets === 0 ? palette.line : (this.markColour(item.key) ?? this.colourOf(group))
    // Only exceptions have a colour.
    const isQuiet = colour === palette.unknown || colour === palette.line
    this.box(box, {
      radius,
      fill: isSmall && !isQuiet ? colour : palette.card,
      stroke: this.borderOf(item),
      width: this.isMarked(item) ? 3 : 1,
    })
    if (isSmall) return
    this.tint(box, group.changes, radius)
    if (!isQuiet) this.edge(box, colour)
    this.#texts(item, group, box)
  }

  /** Draws the texts of a card: its name, where it is, its number of assets, and its most important problem or change. */
  #texts(item: SceneItem, group: TopologyGroup, box: Box): void {
    const { palette, texts, view } = this.options
    const pad = Math.max(8, Math.min(14, box.width * 0.06))
    const x = box.x + pad
    const room = box.width - pad - 4
    const detail = texts.detail(item)
    const wanted = detail === undefined ? 3 : 4
    const height = box.height - around
    const size = Math.max(sizes.text, Math.min(largestText, height / (wanted + 0.6) / lineHeight, box.width * 0.09))
    const line = size * lineHeight
    const lines = Math.max(1, Math.min(wanted, Math.floor(height / lowestLine)))
    const step = Math.min(line, height / lines)
    const isTall = box.height - lines * step > 26
    let y = isTall ? box.y + pad * 0.6 + step / 2 : box.y + (box.height - lines * step) / 2 + step / 2
    const at = (width: number) => ({ x, y, width, size: Math.max(sizes.text, size * 0.9) })
    const words = this.wordsOf(item.key, group)
    // A comparison shows the numbers of changes, and no other numbers.
    const counts = view.showsChanges ? [] : [texts.count(group), texts.assets(group.assets)]
    this.font(size, 650)
    const full = texts.nameOf(group)
    const isComplete = group.kind === 'subnet' && this.context.measureText(full).width <= room
    const long = isComplete ? full : distinctName(full, commonOf(item))
    const isShort = this.context.measureText(long).width > room
    const name = isShort ? distinctName(texts.shortNameOf(group), commonOf(item)) : long
    const nameColour = group.assets === 0 ? palette.quiet : palette.text
    const parts = isTall ? nameLines(this.context, name, room) : [name]
    let used = 0
    for (const [index, part] of parts.entries()) {
      if (index > 0) y += step
      used = this.text(part, { x, y, width: room, colour: nameColour })
    }
    const beside = { ...at(room - used - gap), x: x + room, isRight: true }
    if (lines === 1) {
      if (this.words(words, beside) === 0) this.#longest(counts, beside)
      return
    }
    const isCountBeside = lines < wanted
    if (isCountBeside && lines === 2 && detail !== undefined) this.words(words, beside)
    else if (isCountBeside) this.#longest(counts, beside)
    if (detail !== undefined) {
      y += step
      this.#longest(detail, { ...at(room), colour: palette.text })
    }
    if (!isCountBeside && counts.length > 0) {
      y += step
      this.#longest(counts, at(room))
    }
    if (lines > 2 || detail === undefined) {
      y += step
      this.words(words, at(room))
    }
    const bottom = box.y + box.height - 6
    y += step * 0.8
    if (!view.showsChanges && view.marks === undefined && box.width >= sizes.classes && bottom - y >= 17)
      this.classes(group, { x, y, width: room, height: bottom - y }, Math.min(18, size * 1.1))
  }

  /** Draws the longest of some texts that fits. */
  #longest(
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
}
