import type { TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { onScreen } from './camera.ts'
import { lowered, lowestLine } from './card-lines.ts'
import type { Box } from './geometry.ts'
import { commonOf, MapPen, sizes, type Word } from './map-pen.ts'
import { distinctName } from './names.ts'
import { isWorse, worstProblem } from './problems.ts'
import { isCoreSwitch, isSwitches, type SceneItem } from './scene.ts'
import { ownProblems } from './signs.ts'
import { withoutSwitch } from './switch-networks.ts'
import { briefTexts, twoLines } from './title-form.ts'

/** The sizes of the texts of a box. All boxes of the map have the largest one with which their texts fit, and so have all core switches. */
const textSizes = [15, 14, 13, sizes.text] as const
/** The space before, behind, and above and below the texts of a box, and between two texts in a line. */
const pad = { start: 9, end: 6, line: 6 } as const
const gap = 5
/** The distance of the two lines of a box in relation to their text. */
const lineStep = 1.2

/** `SwitchPen` draws the boxes in the summary of a network: its core switch, and the boxes with all its switches. */
export class SwitchPen extends MapPen {
  /** Whether the cards show states, and neither changes nor an impact. */
  protected get showsStates(): boolean {
    const { showsChanges, marks } = this.options.view
    return !showsChanges && marks === undefined
  }

  /**
   * Draws a box in two lines: its name with the number of its switches, and below them its problem or its number of assets. A second problem
   * replaces the number of switches. A low box has one line with its name and its most important problem or its number of assets.
   */
  protected switches(item: SceneItem, group: TopologyGroup, box: Box): void {
    const { palette, view, texts } = this.options
    const countSize = this.#countSize
    const size = countSize ?? sizes.text
    const x = box.x + pad.start
    const width = box.width - pad.start - pad.end
    const words = this.#briefWords(item.key, group)
    const hasSecond = box.height >= 2 * pad.line + size + lowestLine
    const step = hasSecond ? Math.min(size * lineStep, box.height - 2 * pad.line - size) : 0
    const y = box.y + box.height / 2 - step / 2 + lowered
    this.font(size, 650)
    const used = this.text(this.#nameOf(item, group), { x, y, width, colour: palette.text })
    const beside = { x: x + width, y, width: width - used - gap, size, isRight: true }
    const below = { x, y: y + step, width, size }
    // A comparison shows the numbers of changes, and no other numbers.
    const assets = view.showsChanges ? [] : [texts.assets(group.assets)]
    if (!hasSecond) {
      if (words.length === 0 || this.words(words, beside) === 0) this.longest(assets, beside)
      return
    }
    const { first, second } = twoLines(words, (choice) => this.widthOf(choice, size) <= beside.width)
    if (first !== undefined) this.words([first], beside)
    else if (!view.showsChanges && countSize !== undefined) this.longest([texts.switches(group)], beside)
    if (second.length > 0) this.words(second, below)
    else this.longest(assets, below)
  }

  /** Returns the problems without their longer texts, so that all boxes have the same words. */
  #briefWords(key: string, group: TopologyGroup): (readonly Word[])[] {
    const words = this.wordsOf(key, group)
    return this.showsStates ? briefTexts(words) : words
  }

  #nameOf(item: SceneItem, group: TopologyGroup): string {
    return distinctName(this.options.texts.shortNameOf(group), commonOf(item))
  }

  /** The largest size with which the boxes of all networks have space for the text next to their name, if there is one. */
  get #countSize(): number | undefined {
    this.#foundSize ??= { size: textSizes.find((size) => this.#haveCounts(size)) }
    return this.#foundSize.size
  }

  #foundSize: { size: number | undefined } | undefined

  #haveCounts(size: number): boolean {
    const { camera, texts } = this.options
    return this.#summaryItems().every(({ item, group }) => {
      if (!isSwitches(group)) return true
      const box = onScreen(camera, item.box)
      const isLow = box.height < 2 * pad.line + size + size * lineStep
      this.font(size, 650)
      const name = this.context.measureText(this.#nameOf(item, group)).width
      this.font(size, 400)
      const beside = this.context.measureText(isLow ? texts.assets(group.assets) : texts.switches(group)).width
      return (size === sizes.text || !isLow) && name + gap + beside <= box.width - pad.start - pad.end
    })
  }

  /** Returns the boxes of the summaries of all networks. */
  #summaryItems(): { item: SceneItem; group: TopologyGroup }[] {
    return [...this.options.scene.frames.values()].flatMap(({ summary }) =>
      (summary?.items ?? []).flatMap((item) => (item.group === undefined ? [] : [{ item, group: item.group }])),
    )
  }

  /**
   * Draws the texts of a core switch in one line: its name and its role, and at the right its own state. If no box contains the assets at it,
   * their number and their problems are here. Without space for the texts of all core switches, the role and the number are left out.
   */
  protected coreSwitch(item: SceneItem, group: TopologyGroup, box: Box): void {
    const x = box.x + pad.start
    const y = box.y + box.height / 2 + lowered
    const room = box.width - pad.start - pad.end
    const { name, count, choices, edge } = this.#coreTexts(item, group)
    if (edge !== undefined) this.edge(box, edge)
    const coreSize = this.#coreSize(room)
    const size = coreSize ?? sizes.text
    const shown = coreSize === undefined ? choices.slice(-1) : choices
    const problems = this.words(shown, { x: x + room, y, width: room, size, isRight: true })
    const left = room - (problems === 0 ? 0 : problems + gap)
    this.font(size, 650)
    const used = this.text(name, { x, y, width: left, colour: this.options.palette.text, isEnd: true })
    if (coreSize !== undefined) this.longest([count], { x: x + used + gap, y, width: left - used - gap, size })
  }

  /** Returns the largest size with which all texts of all core switches fit, if there is one. */
  #coreSize(room: number): number | undefined {
    this.#foundCoreSize ??= {
      size: textSizes.find((size) => size <= (this.#countSize ?? sizes.text) && this.#haveCoreTexts(size, room)),
    }
    return this.#foundCoreSize.size
  }

  #foundCoreSize: { size: number | undefined } | undefined

  #haveCoreTexts(size: number, room: number): boolean {
    return this.#summaryItems().every(({ item, group }) => {
      if (!isCoreSwitch(group)) return true
      const { name, count, choices } = this.#coreTexts(item, group)
      const [complete] = choices
      this.font(size, 650)
      const nameWidth = this.context.measureText(name).width
      this.font(size, 400)
      const countWidth = gap + this.context.measureText(count).width
      return nameWidth + countWidth + (complete === undefined ? 0 : gap + this.widthOf(complete, size)) <= room
    })
  }

  /** Returns the texts of a core switch, and its edge: its worst problem or the one of the assets that no box contains. */
  #coreTexts(item: SceneItem, group: TopologyGroup) {
    const { texts, palette } = this.options
    const behind = withoutSwitch(group)
    const name = this.#nameOf(item, group)
    const count = behind.assets === 0 || !this.showsStates ? texts.coreSwitchRole : texts.assets(behind.assets)
    if (!this.showsStates) return { name, count, choices: this.#briefWords(item.key, group), edge: undefined }
    const worstBehind = worstProblem(behind, this.average)
    const problems = ownProblems(group)
    const [worstOwn = 'none'] = problems
    const worst = isWorse(worstBehind, worstOwn) ? worstBehind : worstOwn
    const own = problems.map(
      (problem): Word => ({
        text: texts.ownFact(problem),
        colour: problem === 'failed' ? palette.alarm : palette.text,
        weight: 400,
        mark: this.signOf(problem),
      }),
    )
    const [others = []] = this.#briefWords(item.key, behind)
    const all = [...own, ...others]
    const choices = all.length > 1 ? [all, all.slice(0, 1)] : all.length === 1 ? [all] : []
    return { name, count, choices, edge: worst === 'none' ? undefined : this.signOf(worst) }
  }
}
