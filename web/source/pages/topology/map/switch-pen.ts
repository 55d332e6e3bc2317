import type { TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { onScreen } from './camera.ts'
import { dividedWords, nameLines } from './canvas-text.ts'
import { around, lineHeight, linesIn, lowered, lowestLine, stepOf } from './card-lines.ts'
import type { Box } from './geometry.ts'
import { commonOf, MapPen, sizes, type Word } from './map-pen.ts'
import { distinctName } from './names.ts'
import { isSwitches, type SceneItem } from './scene.ts'
import { ownProblem } from './signs.ts'
import { withoutSwitch } from './switch-networks.ts'
import { briefTexts } from './title-form.ts'

/** The sizes of the texts of a box. All boxes of the map have the largest one with which their texts fit. */
const textSizes = [15, 14, 13, sizes.text] as const
/** The size up to which the texts of a box have space for three lines. */
const lowSize = 13
/** The space before, behind, and above and below the texts of a core switch, and the space for the line between its two parts. */
const corePad = { start: 8, end: 4, line: 7 } as const
const dividerGap = 8
/** The space before and behind the texts of a box of switches, and above and below three lines. */
const pad = { start: 7, end: 6, line: 4 } as const
const gap = 4

/** `SwitchPen` draws the boxes in the summary of a network: its core switch, and the boxes of its other switches. */
export class SwitchPen extends MapPen {
  /** Whether the cards show states, and neither changes nor an impact. */
  protected get showsStates(): boolean {
    const { showsChanges, marks } = this.options.view
    return !showsChanges && marks === undefined
  }

  /** Draws the name of several switches with their number, and their problems below it. */
  protected switches(item: SceneItem, group: TopologyGroup, box: Box): void {
    const { palette, texts, view } = this.options
    const countSize = this.#countSize
    const size = countSize ?? sizes.text
    const x = box.x + pad.start
    const width = box.width - pad.start - pad.end
    const choices = this.#briefWords(item.key, group)
    const most = linesIn(box.height - around)
    const problems = dividedWords(choices, {
      fits: (words) => this.widthOf(words, size) <= width,
      lines: most - 1,
    }).filter((words) => words.length > 0)
    const lines = Math.max(1, Math.min(1 + problems.length, most))
    const closest = (box.height - 2 * pad.line - size) / Math.max(1, lines - 1)
    const step = Math.min(size * lineHeight, closest)
    let y = box.y + (box.height - (lines - 1) * step) / 2 + lowered
    this.font(size, 650)
    const used = this.text(this.#nameOf(item, group), { x, y, width, colour: palette.text })
    const beside = { x: x + width, y, width: width - used - gap, size, isRight: true }
    if (lines === 1 && problems.length > 0) {
      this.words(choices, beside)
      return
    }
    // A comparison shows the numbers of changes, and no other numbers.
    if (!view.showsChanges && countSize !== undefined) this.longest([texts.shortCount(group)], beside)
    for (const words of problems.slice(0, lines - 1)) {
      y += step
      this.words(words, { x, y, width, size })
    }
  }

  /** Returns the problems without their longer texts, so that all boxes have the same words. */
  #briefWords(key: string, group: TopologyGroup): (readonly Word[])[] {
    const words = this.wordsOf(key, group)
    return this.showsStates ? briefTexts(words) : words
  }

  #nameOf(item: SceneItem, group: TopologyGroup): string {
    return distinctName(this.options.texts.shortNameOf(group), commonOf(item))
  }

  /** The largest size with which the boxes of all networks have space for their number of switches next to their name, if there is one. */
  get #countSize(): number | undefined {
    this.#foundSize ??= { size: textSizes.find((size) => this.#haveCounts(size)) }
    return this.#foundSize.size
  }

  #foundSize: { size: number | undefined } | undefined

  #haveCounts(size: number): boolean {
    const { texts, scene, camera } = this.options
    const items = [...scene.frames.values()].flatMap(({ summary }) => summary?.items ?? [])
    return items.every((item) => {
      const { group } = item
      if (group === undefined || !isSwitches(group)) return true
      const box = onScreen(camera, item.box)
      const isLow = box.height < 2 * pad.line + size + 2 * size * lineHeight
      this.font(size, 650)
      const name = this.context.measureText(this.#nameOf(item, group)).width
      this.font(size, 400)
      const count = this.context.measureText(texts.shortCount(group)).width
      return (size <= lowSize || !isLow) && name + gap + count <= box.width - pad.start - pad.end
    })
  }

  /**
   * Draws the texts of a core switch in two parts: its name, its role and its own state, and then the number and the problems of the assets
   * at it. Each part has its own edge. With fewer lines, the least important ones are left out.
   */
  protected coreSwitch(item: SceneItem, group: TopologyGroup, box: Box): void {
    const { palette, texts, view } = this.options
    const x = box.x + corePad.start
    const width = box.width - corePad.start - corePad.end
    const isState = this.showsStates
    const own = isState
      ? texts.ownState(group).filter(({ isBad, isMonitoring }) => isBad || !isMonitoring || view.hasMonitoring)
      : []
    const ownLines = own.map(({ text, isBad }): Word[] => [
      { text, colour: isBad ? palette.alarm : palette.text, weight: isBad ? 650 : 400 },
    ])
    const roles = (texts.detail(item) ?? []).map((text): Word[] => [{ text, colour: palette.text, weight: 400 }])
    const behind = isState ? withoutSwitch(group) : group
    // The edge of the part shows that its problem is exceptional.
    const choices = this.#briefWords(item.key, behind).map((parts) =>
      parts.map((word) => (isState ? { ...word, weight: 400 } : word)),
    )
    const longest = [...roles.slice(0, 1), ...ownLines, ...choices.slice(0, 1)]
    const largest = this.#countSize ?? lowSize
    const fitting = textSizes
      .filter((each) => each <= largest)
      .find((each) => longest.every((line) => line.every((word) => this.widthOf([word], each) <= width)))
    const size = fitting ?? sizes.text
    const mostLines = linesIn(box.height - around)
    const problems = dividedWords(choices, {
      fits: (words) => this.widthOf(words, size) <= width,
      lines: linesIn(box.height - around - dividerGap) >= 5 ? 2 : 1,
    }).filter((line) => line.length > 0)
    // The name has two lines only with space for all other texts.
    const others = 1 + ownLines.length + Number(isState) + problems.length
    const fullName = this.#nameOf(item, group)
    this.font(size, 650)
    const names = mostLines >= 2 + others ? nameLines(this.context, fullName, width) : [fullName]
    const words = (choices: readonly (readonly Word[])[]) => (y: number) => this.words(choices, { x, y, width, size })
    const nameLine = (name: string) => (y: number) => {
      this.font(size, 650)
      this.text(name, { x, y, width, colour: palette.text, isEnd: true })
    }
    const count = (y: number) =>
      this.longest([texts.assets(behind.assets)], { x, y, width, size, colour: palette.text })
    const lines = [
      ...names.map((name) => ({ rank: 0, isBehind: false, draw: nameLine(name) })),
      { rank: 4, isBehind: false, draw: words(roles) },
      ...ownLines.map((line) => ({ rank: 1, isBehind: false, draw: words([line]) })),
      ...(isState ? [{ rank: 2, isBehind: true, draw: count }] : []),
      ...problems.map((choices) => ({ rank: isState ? 3 : 1, isBehind: isState, draw: words(choices) })),
    ]
    const most = Math.max(1, Math.min(lines.length, mostLines))
    const chosen = lines.toSorted((one, other) => one.rank - other.rank).slice(0, most)
    const shown = lines.filter((line) => chosen.includes(line))
    const divider =
      shown.some(({ isBehind }) => isBehind) && box.height > most * lowestLine + dividerGap * 2 ? dividerGap : 0
    const height = box.height - divider
    const padded = Math.max(lowestLine, (height - 2 * corePad.line - size) / Math.max(1, most - 1))
    const step = Math.min(stepOf(height, { lines: most, size }), padded)
    const top = box.y + (height - (most - 1) * step) / 2 + lowered
    const firstBehind = shown.findIndex(({ isBehind }) => isBehind)
    const yOf = (index: number) => top + index * step + (firstBehind !== -1 && index >= firstBehind ? divider : 0)
    for (const [index, { draw }] of shown.entries()) draw(yOf(index))
    if (!isState) return
    if (divider > 0) {
      const y = yOf(firstBehind) - (step + divider) / 2
      const ends = [box.x + corePad.start, box.x + box.width - corePad.start].map((end) => ({ x: end, y }))
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
}
