import type { TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { onScreen } from './camera.ts'
import { dividedWords, nameLines } from './canvas-text.ts'
import { around, gap, linesIn, lowered, right, sizeFor, stepOf } from './card-lines.ts'
import type { Box } from './geometry.ts'
import { commonOf, sizes, type Word } from './map-pen.ts'
import { distinctName } from './names.ts'
import { areaOf, isCoreSwitch, isNetwork, isSwitches, type SceneItem } from './scene.ts'
import { SwitchPen } from './switch-pen.ts'
import { completeTexts, inForm, sharedForm, type TitleForm, type TitleWidths } from './title-form.ts'

/** The largest size of the texts of a card. */
const largestText = 16
/** The width of a card, divided by its height, from which the number of assets is next to the name. */
const wideCard = 8

/** The smallest space before the texts of a card. */
const leastPad = 7

function padOf({ width }: Box): number {
  return Math.max(leastPad, Math.min(14, width * 0.04))
}

type TitleOptions = {
  counts: readonly string[]
  x: number
  y: number
  room: number
  /** The sizes of the name and of the other texts. */
  size: number
  small: number
}

/** `CardPen` draws groups: a closed group as a card with texts, and the border and title of an open group. */
export class CardPen extends SwitchPen {
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
    const counts = view.showsChanges ? [] : [texts.count(group), texts.shortCount(group)]
    this.#title(item, group, { counts, x, y: middle, room, size, small: Math.max(sizes.text, size * 0.8) })
  }

  /** Draws the title of a small open group into the space above the items inside. */
  protected smallTitle(item: SceneItem, group: TopologyGroup, box: Box): void {
    if (box.width < sizes.title || box.height < 30) return
    const { texts } = this.options
    const top = Math.min(...(item.frame?.items ?? []).map(({ box: inner }) => onScreen(this.options.camera, inner).y))
    const room = Math.min(top, box.y + box.height) - box.y
    if (room < 9) return
    const size = Math.min(sizes.text, room - 3)
    const [x, y, width] = [box.x + 6, box.y + room / 2, box.width - 12]
    const counts = this.options.view.showsChanges ? [] : [texts.assets(group.assets)]
    this.#title(item, group, { counts, x, y, room: width, size, small: size })
  }

  /** Draws the title of an open group: its name, its number of assets or switches, and as many of its problems as fit. */
  #title(item: SceneItem, group: TopologyGroup, { counts, x, y, room, size, small }: TitleOptions): void {
    const { palette, texts } = this.options
    this.font(size, 650)
    const name = distinctName(texts.nameOf(group), commonOf(item))
    const used = this.text(name, { x, y, width: room * 0.7, colour: palette.text })
    this.font(small, 400)
    const shortest = Math.min(...counts.map((text) => this.context.measureText(text).width))
    // In a small title, the problem is more important than the number of assets.
    const reserved = counts.length === 0 || small === size ? 0 : shortest + gap
    const at = { x: x + room, y: y + 0.5, size: small, isRight: true }
    const choices = this.wordsOf(item.key, group)
    const form = counts.length > 0 ? this.#titleForm(item, { room, size, small }) : undefined
    if (form !== undefined) {
      const { count, words } = this.#titleTexts(item, group)
      this.words([inForm(words, form.problems) ?? []], { ...at, width: room })
      this.longest([inForm(count, form.count) ?? ''], { x: x + used + gap, y: y + 0.5, width: room, size: small })
      return
    }
    const words =
      this.words(choices, { ...at, width: room - used - gap - reserved }) ||
      this.words(choices, { ...at, width: room - used - gap })
    const left = room - used - gap - (words === 0 ? 0 : words + gap)
    this.longest(counts, { x: x + used + gap, y: y + 0.5, width: left, size: small })
  }

  /** Returns the form of the titles of all open groups next to a group. */
  #titleForm(
    { parent }: SceneItem,
    { room, size, small }: { room: number; size: number; small: number },
  ): TitleForm | undefined {
    const { texts } = this.options
    const titles = parent.items.flatMap((item): TitleWidths[] => {
      const { group, frame } = item
      if (group === undefined || frame === undefined) return []
      this.font(size, 650)
      const name = this.context.measureText(distinctName(texts.nameOf(group), commonOf(item))).width
      const { count, words } = this.#titleTexts(item, group)
      this.font(small, 400)
      const counts = count.map((text) => this.context.measureText(text).width)
      return [{ name, counts, problems: words.map((each) => this.widthOf(each, small)) }]
    })
    return sharedForm(titles, { room, gap: gap * 2 })
  }

  /** Returns the texts of a title. The number of assets of a place is less important than each of its problems, so that places are comparable. */
  #titleTexts({ key }: SceneItem, group: TopologyGroup): { count: string[]; words: (readonly Word[])[] } {
    const { texts } = this.options
    const words = this.wordsOf(key, group)
    if (isNetwork(group)) return { count: [texts.count(group), texts.shortCount(group)], words }
    return { count: [texts.count(group), ''], words: completeTexts(words) }
  }

  /** Draws a closed group as a card. */
  protected card(item: SceneItem, group: TopologyGroup, box: Box): void {
    const { palette, view } = this.options
    const isSmall = box.width < sizes.title || box.height < 14
    const radius = Math.min(8, box.width * 0.06, box.height * 0.2)
    const colour = group.assets === 0 ? palette.line : (this.markColour(item.key) ?? this.colourOf(group))
    // Only exceptions have a colour.
    const isQuiet = colour === palette.unknown || colour === palette.line
    const isFlat = isQuiet && this.showsStates && !view.hasOnlyProblems
    this.box(box, {
      radius,
      fill: isSmall && !isQuiet && !this.isLastKnown(item) ? colour : isFlat ? palette.ground : palette.card,
      stroke: this.borderOf(item),
      width: this.isMarked(item) ? 3 : 1,
    })
    if (isSmall) {
      if (this.isLastKnown(item)) this.edge(box, { colour, isBroken: true })
      return
    }
    this.tint(box, group.changes, radius)
    // The edge of a core switch is also about the switch itself.
    if (!isQuiet && !(isCoreSwitch(group) && this.showsStates))
      this.edge(box, { colour, isBroken: this.isLastKnown(item) })
    if (isCoreSwitch(group)) this.coreSwitch(item, group, box)
    else if (isSwitches(group)) this.switches(item, group, box)
    else this.#texts(item, group, box)
  }

  /** Draws the texts of a card: its name, where it is, its number of assets, and its most important problem or change. */
  #texts(item: SceneItem, group: TopologyGroup, box: Box): void {
    const { palette, texts, view } = this.options
    const pad = padOf(box)
    const x = box.x + pad
    const room = box.width - pad - right.start
    const end = box.width - pad - right.end
    const height = box.height - around
    const problems = this.wordsOf(item.key, group)
    // In the boxes of subnets, the number of assets is next to the name.
    const isSubnet = item.parent.items.some(({ group: other }) => other?.kind === 'subnet')
    const isBeside = isSubnet || box.width > box.height * wideCard
    const problemLines = this.#problemLines(item, group, box)
    // A subnet with several places has problems instead of this text.
    const isPlaced = group.kind !== 'subnet' || group.place !== undefined || problemLines.length < 2
    const detail = isPlaced ? texts.detail(item) : undefined
    const others = (isBeside ? 1 : 2) + Number(detail !== undefined)
    // Boxes next to each other have space for the same lines, so that their texts have the same height.
    const wanted = others + (isSubnet ? problemLines.length : this.#mostProblemLines(item, box))
    const size = Math.max(sizes.text, Math.min(largestText, sizeFor(height, wanted + 0.6), box.width * 0.09))
    const lines = Math.max(1, Math.min(wanted, linesIn(height)))
    const step = stepOf(box.height, { lines, size })
    const isTall = box.height - lines * step > 26
    let y = isTall ? box.y + pad * 0.6 + step / 2 : box.y + (box.height - (lines - 1) * step) / 2 + lowered
    const at = (width: number) => ({ x, y, width, size: Math.max(sizes.text, size * 0.9) })
    // A comparison shows the numbers of changes, and no other numbers.
    const counts = !view.showsChanges ? [texts.count(group), texts.shortCount(group)] : []
    const isCountBeside = isBeside || lines < wanted
    const nameRoom = isCountBeside
      ? this.#roomBeside({ room: end, lines, size: size * 0.9 }, { words: problems, counts })
      : room
    this.font(size, 650)
    const name = this.#nameFor(item, group, { nameRoom, room })
    const nameColour = group.assets === 0 ? palette.quiet : palette.text
    const parts = isTall && !isCountBeside ? nameLines(this.context, name, room) : [name]
    let used = 0
    for (const [index, part] of parts.entries()) {
      if (index > 0) y += step
      used = this.text(part, { x, y, width: room, colour: nameColour })
    }
    const beside = { ...at(end - used - gap), x: x + end, isRight: true }
    if (lines === 1) {
      if (this.words(problems, beside) === 0) this.longest(counts, beside)
      return
    }
    if (isCountBeside) this.longest(counts, beside)
    if (detail !== undefined && lines > 2) {
      y += step
      this.longest(detail, { ...at(room), colour: palette.text })
    }
    if (!isCountBeside && counts.length > 0) {
      y += step
      this.longest(counts, at(room))
    }
    for (const choices of problemLines) {
      y += step
      // All problems in a smaller text are better than some of them.
      const complete = completeTexts(choices)
      const smaller = { ...at(room), size: sizes.text }
      if (this.words(complete, at(room)) === 0 && this.words(complete, smaller) === 0) this.words(choices, at(room))
    }
    if (isSubnet) return
    const bottom = box.y + box.height - 6
    y += step * 0.8
    if (!view.showsChanges && view.marks === undefined && box.width >= sizes.classes && bottom - y >= 17)
      this.classes(group, { x, y, width: room, height: bottom - y }, { size: Math.min(18, size * 1.1), isNamed: true })
  }

  /** Returns the problems of a card in one line, or in two lines if they need and have the space. */
  #problemLines(item: SceneItem, group: TopologyGroup, box: Box): (readonly (readonly Word[])[])[] {
    // Only the text about several places is less important than the problems.
    const isPlaced = group.kind !== 'subnet' || group.place !== undefined
    const others = 1 + Number(isPlaced && this.options.texts.detail(item) !== undefined)
    const room = box.width - padOf(box) - right.start
    return dividedWords(this.wordsOf(item.key, group), {
      fits: (words) => this.widthOf(words, sizes.text) <= room,
      lines: linesIn(box.height - around) >= others + 2 ? 2 : 1,
    })
  }

  readonly #lineCounts = new Map<string, number>()

  /** Returns the largest number of lines with problems in the boxes of the same size next to a box. */
  #mostProblemLines({ parent }: SceneItem, box: Box): number {
    const { camera } = this.options
    const key = `${parent.key} ${parent.common.groups.start} ${Math.round(box.width)}`
    const known = this.#lineCounts.get(key)
    if (known !== undefined) return known
    const most = Math.max(
      ...parent.items.map((item) => {
        const other = onScreen(camera, item.box)
        const isSame = Math.round(other.width) === Math.round(box.width)
        return item.group === undefined || !isSame ? 0 : this.#problemLines(item, item.group, other).length
      }),
    )
    this.#lineCounts.set(key, most)
    return most
  }

  /** Returns the width for a name with a number or a problem next to it. */
  #roomBeside(
    { room, lines, size }: { room: number; lines: number; size: number },
    { words, counts }: { words: readonly (readonly Word[])[]; counts: readonly string[] },
  ): number {
    const font = Math.max(sizes.text, size)
    this.font(font, 400)
    const count = counts.at(-1)
    const shortest = words.at(-1)
    const isProblem = lines === 1 && shortest !== undefined
    if (isProblem) return room - gap - this.widthOf(shortest, font)
    return count === undefined ? room : room - gap - this.context.measureText(count).width
  }

  /** Returns the longest name of a group that fits, or its shortest name. */
  #nameFor(item: SceneItem, group: TopologyGroup, { nameRoom, room }: { nameRoom: number; room: number }): string {
    const { texts } = this.options
    const common = commonOf(item)
    const full = texts.nameOf(group)
    const short = distinctName(texts.shortNameOf(group), common)
    const names = [distinctName(full, common), short]
    const fits = (width: number) => names.find((name) => this.context.measureText(name).width <= width)
    return fits(nameRoom) ?? fits(room) ?? names.at(-1) ?? full
  }
}
