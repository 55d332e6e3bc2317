import type { TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { onScreen } from './camera.ts'
import { dividedWords, nameLines } from './canvas-text.ts'
import type { Box } from './geometry.ts'
import { commonOf, MapPen, sizes, type Word } from './map-pen.ts'
import { distinctName } from './names.ts'
import { areaOf, isCoreSwitch, isNetwork, isSwitches, type SceneItem } from './scene.ts'
import { withoutSwitch } from './switch-networks.ts'
import { completeTexts, inForm, sharedForm, type TitleForm, type TitleWidths } from './title-form.ts'

/** The largest size of the texts of a card, and the height of a line in relation to it. */
const largestText = 16
const lineHeight = 1.3
/** The smallest height of a line, and the space above and below the lines. */
const lowestLine = 12.5
/** The smallest height of a line with more than two lines, so that no text is at the edge of its card. */
const lowestOfSeveral = 13.5
const around = 3

/** Returns the number of lines in a height. */
function linesIn(height: number): number {
  const several = Math.floor(height / lowestOfSeveral)
  return several > 2 ? several : Math.min(2, Math.floor(height / lowestLine))
}

/** The space between the edge of a card and its first and last text, and by how much capital letters are above the middle of a line. */
const inset = 5
const lowered = 1

/** Returns the distance between the lines of a card. With more lines, they are closer together, and not closer to the edge. */
export function stepOf(height: number, { lines, size }: { lines: number; size: number }): number {
  const largest = Math.min(size * lineHeight, (height - around) / lines)
  if (lines < 2) return largest
  return Math.min(largest, Math.max(lowestLine, (height - 2 * inset - size) / (lines - 1)))
}

/** The space between two texts in one line. */
const gap = 6
/** The width of a card, divided by its height, from which the number of assets is next to the name. */
const wideCard = 8

/** The space between the right edge of a card and its texts, and a text that ends there. */
const right = { start: 5, end: 7 }
/** The space before the texts of a core switch, and the space for the line between its two parts. */
const cardInset = 9
const dividerGap = 8

/** Returns the colour of the state of a core switch itself: not reachable, or with outdated firmware. */
export function ownProblem({ self }: Pick<TopologyGroup, 'self'>): 'failed' | 'outdated' | undefined {
  if (self?.monitoring === 'unreachable') return 'failed'
  return self?.outdated === true ? 'outdated' : undefined
}

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
      this.#longest([inForm(count, form.count) ?? ''], { x: x + used + gap, y: y + 0.5, width: room, size: small })
      return
    }
    const words =
      this.words(choices, { ...at, width: room - used - gap - reserved }) ||
      this.words(choices, { ...at, width: room - used - gap })
    const left = room - used - gap - (words === 0 ? 0 : words + gap)
    this.#longest(counts, { x: x + used + gap, y: y + 0.5, width: left, size: small })
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
    const { palette } = this.options
    const isSmall = box.width < sizes.title || box.height < 14
    const radius = Math.min(8, box.width * 0.06, box.height * 0.2)
    const colour = group.assets === 0 ? palette.line : (this.markColour(item.key) ?? this.colourOf(group))
    // Only exceptions have a colour.
    const isQuiet = colour === palette.unknown || colour === palette.line
    const hasOwnProblem = isCoreSwitch(group) && ownProblem(group) !== undefined
    const isFlat = isQuiet && this.#showsStates && !hasOwnProblem
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
    // The parts of a core switch have their own edges.
    if (!isQuiet && !(isCoreSwitch(group) && this.#showsStates))
      this.edge(box, { colour, isBroken: this.isLastKnown(item) })
    if (isCoreSwitch(group)) this.#coreSwitch(item, group, box)
    else this.#texts(item, group, box)
  }

  /** Whether the cards show states, and neither changes nor an impact. */
  get #showsStates(): boolean {
    const { showsChanges, marks } = this.options.view
    return !showsChanges && marks === undefined
  }

  /**
   * Draws the texts of a core switch in two parts: its name, its role and its own state, and then the number and the problem of the assets
   * at it. Each part has its own edge. With fewer lines, the least important ones are left out.
   */
  #coreSwitch(item: SceneItem, group: TopologyGroup, box: Box): void {
    const { palette, texts, view } = this.options
    const x = box.x + cardInset
    const width = box.width - cardInset - right.start
    const size = sizes.text
    const isState = this.#showsStates
    const own = isState
      ? texts.ownState(group).filter(({ isBad, isMonitoring }) => isBad || !isMonitoring || view.hasMonitoring)
      : []
    const ownLines = own.map(({ texts: choices, isBad }) =>
      choices.map((text): Word[] => [
        { text, colour: isBad ? palette.alarm : palette.text, weight: isBad ? 650 : 400 },
      ]),
    )
    const roles = (texts.detail(item) ?? []).map((text): Word[] => [{ text, colour: palette.text, weight: 400 }])
    this.font(size, 650)
    const fullName = distinctName(texts.shortNameOf(group), commonOf(item))
    const mostLines = linesIn(box.height - around)
    // The name has two lines only with space for all other texts.
    const names = mostLines > 5 + ownLines.length ? nameLines(this.context, fullName, width) : [fullName]
    const behind = isState ? withoutSwitch(group) : group
    const problems = dividedWords(this.wordsOf(item.key, behind), {
      fits: (words) => this.widthOf(words, size) <= width,
      lines: linesIn(box.height - around - dividerGap) >= 5 ? 2 : 1,
    })
    const words = (choices: readonly (readonly Word[])[]) => (y: number) => this.words(choices, { x, y, width, size })
    const nameLine = (name: string) => (y: number) => {
      this.font(size, 650)
      this.text(name, { x, y, width, colour: palette.text, isEnd: true })
    }
    const count = (y: number) =>
      this.#longest(texts.assetsAt(behind.assets), { x, y, width, size, colour: palette.text })
    const lines = [
      ...names.map((name) => ({ rank: 0, isBehind: false, draw: nameLine(name) })),
      { rank: 4, isBehind: false, draw: words(roles) },
      ...ownLines.map((choices) => ({ rank: 1, isBehind: false, draw: words(choices) })),
      ...(isState ? [{ rank: 2, isBehind: true, draw: count }] : []),
      ...problems
        .filter((choices) => choices.length > 0)
        .map((choices) => ({ rank: isState ? 3 : 1, isBehind: isState, draw: words(choices) })),
    ]
    const most = Math.max(1, Math.min(lines.length, mostLines))
    const chosen = lines.toSorted((one, other) => one.rank - other.rank).slice(0, most)
    const shown = lines.filter((line) => chosen.includes(line))
    const divider =
      shown.some(({ isBehind }) => isBehind) && box.height > most * lowestLine + dividerGap * 2 ? dividerGap : 0
    const step = stepOf(box.height - divider, { lines: most, size })
    const top = box.y + (box.height - divider - (most - 1) * step) / 2 + lowered
    const firstBehind = shown.findIndex(({ isBehind }) => isBehind)
    const yOf = (index: number) => top + index * step + (firstBehind !== -1 && index >= firstBehind ? divider : 0)
    for (const [index, { draw }] of shown.entries()) draw(yOf(index))
    if (!isState) return
    if (divider > 0) {
      const y = yOf(firstBehind) - (step + divider) / 2
      const ends = [box.x + cardInset, box.x + box.width - cardInset].map((end) => ({ x: end, y }))
      this.line(ends, { colour: palette.line, width: 1, alpha: 1 })
    }
    /** Draws the state of some lines as a bar next to them. */
    const bar = (first: number, last: number, style: { colour: string; isBroken: boolean }) => {
      const y = yOf(first) - size * 0.65
      if (first <= last) this.edge({ ...box, y, height: yOf(last) + size * 0.5 - y }, style)
    }
    const lastOwn = firstBehind === -1 ? shown.length - 1 : firstBehind - 1
    const ownColour = ownProblem(group)
    if (ownColour !== undefined) bar(0, lastOwn, { colour: palette[ownColour], isBroken: false })
    const colour = this.colourOf(behind)
    if (colour !== palette.unknown && firstBehind !== -1)
      bar(firstBehind, shown.length - 1, { colour, isBroken: this.isLastKnown({ ...item, group: behind }) })
  }

  /** Draws the texts of a card: its name, where it is, its number of assets, and its most important problem or change. */
  #texts(item: SceneItem, group: TopologyGroup, box: Box): void {
    const { palette, texts, view } = this.options
    const pad = padOf(box)
    const x = box.x + pad
    const room = box.width - pad - right.start
    const end = box.width - pad - right.end
    const height = box.height - around
    const problems = this.#problemsOf(item, group)
    // In the boxes of subnets and of switches, the number of assets or switches is next to the name.
    const isSubnet = item.parent.items.some(({ group: other }) => other?.kind === 'subnet')
    const isNamedByPlace = isSwitches(group) && group.place !== undefined
    const isBeside = isSubnet || isNamedByPlace || box.width > box.height * wideCard
    const problemLines = this.#problemLines(item, group, box)
    // A subnet with several places has problems instead of this text.
    const isPlaced = group.kind !== 'subnet' || group.place !== undefined || problemLines.length < 2
    const detail = isPlaced ? texts.detail(item) : undefined
    const others = (isBeside ? 1 : 2) + Number(detail !== undefined)
    // Boxes next to each other have space for the same lines, so that their texts have the same height.
    const wanted = others + (isSubnet ? problemLines.length : this.#mostProblemLines(item, box))
    const size = Math.max(sizes.text, Math.min(largestText, height / (wanted + 0.6) / lineHeight, box.width * 0.09))
    const lines = Math.max(1, Math.min(wanted, linesIn(height)))
    const step = stepOf(box.height, { lines, size })
    const isTall = box.height - lines * step > 26
    let y = isTall ? box.y + pad * 0.6 + step / 2 : box.y + (box.height - (lines - 1) * step) / 2 + lowered
    const at = (width: number) => ({ x, y, width, size: Math.max(sizes.text, size * 0.9) })
    // A comparison shows the numbers of changes, and no other numbers.
    const hasCount = !view.showsChanges && (!isNamedByPlace || this.#haveSwitchCounts)
    const counts = hasCount ? [texts.count(group), texts.shortCount(group)] : []
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
      if (this.words(problems, beside) === 0) this.#longest(counts, beside)
      return
    }
    if (isCountBeside) this.#longest(counts, beside)
    if (detail !== undefined && lines > 2) {
      y += step
      this.#longest(detail, { ...at(room), colour: palette.text })
    }
    if (!isCountBeside && counts.length > 0) {
      y += step
      this.#longest(counts, at(room))
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

  /** The boxes of switches that are named by their place, in all networks of the map. */
  get #placedSwitches(): { item: SceneItem; group: TopologyGroup; width: number }[] {
    return [...this.options.scene.frames.values()].flatMap(({ summary }) =>
      (summary?.items ?? []).flatMap((item) => {
        const { group } = item
        if (group === undefined || !isSwitches(group) || group.place === undefined) return []
        const { width } = onScreen(this.options.camera, item.box)
        return [{ item, group, width: width - leastPad }]
      }),
    )
  }

  /** Whether the boxes of all networks have space for their number of switches next to their name. */
  get #haveSwitchCounts(): boolean {
    this.#switchCounts ??= this.#placedSwitches.every(({ item, group, width }) => {
      const { texts } = this.options
      this.font(sizes.text, 650)
      const name = this.context.measureText(distinctName(texts.shortNameOf(group), commonOf(item))).width
      this.font(sizes.text, 400)
      return name + gap + this.context.measureText(texts.shortCount(group)).width <= width - right.end
    })
    return this.#switchCounts
  }

  #switchCounts: boolean | undefined

  /** Whether the boxes of all networks have space for their number of outdated assets with the number of all assets. */
  get #haveTotals(): boolean {
    this.#totals ??= this.#placedSwitches.every(({ item, group, width }) => {
      const last = this.wordsOf(item.key, group, { hasTotal: true })[0]?.at(-1)
      return last === undefined || this.widthOf([last], sizes.text) <= width - right.start
    })
    return this.#totals
  }

  #totals: boolean | undefined

  /** Returns the problems of a card, from the longest to the shortest text. */
  #problemsOf({ key }: SceneItem, group: TopologyGroup): Word[][] {
    const isNamedByPlace = isSwitches(group) && group.place !== undefined
    return this.wordsOf(key, group, { hasTotal: isNamedByPlace && this.#haveTotals })
  }

  /** Returns the problems of a card in one line, or in two lines if they need and have the space. */
  #problemLines(item: SceneItem, group: TopologyGroup, box: Box): (readonly (readonly Word[])[])[] {
    // Only the text about several places is less important than the problems.
    const isPlaced = group.kind !== 'subnet' || group.place !== undefined
    const others = 1 + Number(isPlaced && this.options.texts.detail(item) !== undefined)
    const room = box.width - padOf(box) - right.start
    return dividedWords(this.#problemsOf(item, group), {
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
