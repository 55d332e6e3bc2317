import type { TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { onScreen } from './camera.ts'
import { lowered, lowestLine } from './card-lines.ts'
import type { Box } from './geometry.ts'
import { commonOf, MapPen, sizes, type Word } from './map-pen.ts'
import { distinctName } from './names.ts'
import { isMostlyOutdated, isWorse, worstProblem } from './problems.ts'
import { isCoreSwitch, isSwitches, type SceneItem } from './scene.ts'
import { ownProblems } from './signs.ts'
import { withoutSwitch } from './switch-networks.ts'
import { briefTexts, completeTexts, inForm, sharedForm, type TitleForm, type TitleWidths } from './title-form.ts'

/** The sizes of the texts of a box. All boxes of the map have the largest one with which their texts fit. */
const textSizes = [15, 14, 13, sizes.text] as const
/** The space before, behind, and above and below the texts of a box, and between two texts in a line. */
const pad = { start: 9, end: 7, line: 6 } as const
const gap = 6
/** The distance of the two lines of a box in relation to their text. */
const lineStep = 1.2

/** The size of the texts of all core switches, and their form. */
type CoreStyle = { size: number; form: TitleForm | undefined }

/** `SwitchPen` draws the boxes in the summary of a network: its core switch, and the boxes of its other switches. */
export class SwitchPen extends MapPen {
  /** Whether the cards show states, and neither changes nor an impact. */
  protected get showsStates(): boolean {
    const { showsChanges, marks } = this.options.view
    return !showsChanges && marks === undefined
  }

  /** Draws the name of several switches with their number of assets, and their problems below it, or next to it in a low box. */
  protected switches(item: SceneItem, group: TopologyGroup, box: Box): void {
    const { palette, texts, view } = this.options
    const countSize = this.#countSize
    const size = countSize ?? sizes.text
    const x = box.x + pad.start
    const width = box.width - pad.start - pad.end
    const { choices, share } = this.#boxProblems(item.key, group)
    const hasSecond = choices.length > 0 && box.height >= 2 * pad.line + size + lowestLine
    const step = hasSecond ? Math.min(size * lineStep, box.height - 2 * pad.line - size) : 0
    const y = box.y + box.height / 2 - step / 2 + lowered
    this.font(size, 650)
    const used = this.text(this.#nameOf(item, group), { x, y, width, colour: palette.text })
    const beside = { x: x + width, y, width: width - used - gap, size, isRight: true }
    if (choices.length > 0 && !hasSecond && this.words(this.#briefWords(item.key, group), beside) > 0) return
    // A comparison shows the numbers of changes, and no other numbers.
    if (!view.showsChanges && countSize !== undefined) this.longest([texts.shortCount(group)], beside)
    if (!hasSecond) return
    const below = { y: y + step, size }
    const shareWidth =
      share === undefined ? 0 : gap + this.words([[share]], { ...below, x: x + width, width, isRight: true })
    this.words(choices, { ...below, x, width: width - shareWidth })
  }

  /** Returns the problems of a box. With a worse problem, a high share of outdated assets is a separate text, without words. */
  #boxProblems(key: string, group: TopologyGroup): { choices: (readonly Word[])[]; share?: Word } {
    const choices = this.#briefWords(key, group)
    const [complete = []] = choices
    const last = complete.at(-1)
    const isOld = this.showsStates && isMostlyOutdated(group, this.average)
    if (!isOld || last === undefined || complete.length < 2) return { choices }
    const faults = complete.slice(0, -1)
    const share = { ...last, text: this.options.texts.share(group.outdated, group.assets) }
    return { choices: [faults, faults.slice(0, 1)], share }
  }

  /** Returns the problems without their longer texts, so that all boxes have the same words. */
  #briefWords(key: string, group: TopologyGroup): (readonly Word[])[] {
    const words = this.wordsOf(key, group)
    return this.showsStates ? briefTexts(words) : words
  }

  #nameOf(item: SceneItem, group: TopologyGroup): string {
    return distinctName(this.options.texts.shortNameOf(group), commonOf(item))
  }

  /** The largest size with which the boxes of all networks have space for their number of assets next to their name, if there is one. */
  get #countSize(): number | undefined {
    this.#foundSize ??= { size: textSizes.find((size) => this.#haveCounts(size)) }
    return this.#foundSize.size
  }

  #foundSize: { size: number | undefined } | undefined

  #haveCounts(size: number): boolean {
    const { texts, camera } = this.options
    return this.#summaryItems().every(({ item, group }) => {
      if (!isSwitches(group)) return true
      const box = onScreen(camera, item.box)
      const isLow = box.height < 2 * pad.line + size + size * lineStep
      this.font(size, 650)
      const name = this.context.measureText(this.#nameOf(item, group)).width
      this.font(size, 400)
      const count = this.context.measureText(texts.shortCount(group)).width
      return (size === sizes.text || !isLow) && name + gap + count <= box.width - pad.start - pad.end
    })
  }

  /** Returns the boxes of the summaries of all networks. */
  #summaryItems(): { item: SceneItem; group: TopologyGroup }[] {
    return [...this.options.scene.frames.values()].flatMap(({ summary }) =>
      (summary?.items ?? []).flatMap((item) => (item.group === undefined ? [] : [{ item, group: item.group }])),
    )
  }

  /**
   * Draws the texts of a core switch in one line: its name, its role and the number of assets at it, and at the right its own problems and
   * those of these assets. All core switches have the same texts. Without space for all of them, the role is left out first.
   */
  protected coreSwitch(item: SceneItem, group: TopologyGroup, box: Box): void {
    const { palette } = this.options
    const x = box.x + pad.start
    const y = box.y + box.height / 2 + lowered
    const room = box.width - pad.start - pad.end
    const { name, counts, choices, edge } = this.#coreTexts(item, group)
    if (edge !== undefined) this.edge(box, edge)
    const { size, form } = this.#coreStyle(room)
    const right = { x: x + room, y, width: room, size, isRight: true }
    const [complete = []] = choices
    const shown = form === undefined ? (choices.at(-1) ?? []) : complete
    const problems = shown.length === 0 ? 0 : gap + this.words([shown], right)
    this.font(size, 650)
    const used = this.text(name, { x, y, width: room - problems, colour: palette.text, isEnd: true })
    const count = form === undefined ? '' : (inForm(counts, form.count) ?? '')
    this.longest([count], { ...right, x: x + used + gap, isRight: false })
  }

  /**
   * Returns the largest size with which the longest texts of all core switches fit, or the smallest size and the longest form that fits with
   * all problems, if there is one.
   */
  #coreStyle(room: number): CoreStyle {
    this.#foundStyle ??= this.#styleFor(room)
    return this.#foundStyle
  }

  #foundStyle: CoreStyle | undefined

  #styleFor(room: number): CoreStyle {
    const largest = this.#countSize ?? sizes.text
    const styles = textSizes
      .filter((size) => size <= largest)
      .map((size) => ({ size, form: sharedForm(this.#coreWidths(size), { room, gap }) }))
    return styles.find(({ form }) => form?.count === 0) ?? { size: sizes.text, form: styles.at(-1)?.form }
  }

  #coreWidths(size: number): TitleWidths[] {
    return this.#summaryItems()
      .filter(({ group }) => isCoreSwitch(group))
      .map(({ item, group }) => {
        const { name, counts, choices } = this.#coreTexts(item, group)
        this.font(size, 650)
        const width = this.context.measureText(name).width
        this.font(size, 400)
        return {
          name: width,
          counts: counts.map((text) => this.context.measureText(text).width),
          problems: completeTexts(choices).map((words) => this.widthOf(words, size)),
        }
      })
  }

  /** Returns the texts of a core switch, and its edge: its worst problem or the one of the assets at it. The others have marks. */
  #coreTexts(item: SceneItem, group: TopologyGroup) {
    const { texts, palette } = this.options
    const name = this.#nameOf(item, group)
    if (!this.showsStates)
      return { name, counts: texts.coreCounts(undefined), choices: this.#briefWords(item.key, group), edge: undefined }
    const behind = withoutSwitch(group)
    const worstBehind = worstProblem(behind, this.average)
    const problems = ownProblems(group)
    const [worstOwn = 'none'] = problems
    const worst = isWorse(worstBehind, worstOwn) ? worstBehind : worstOwn
    const own = problems.map((problem): Word => {
      const isMarked = problem !== worst
      return {
        text: texts.ownFact(problem),
        colour: problem === 'failed' ? palette.alarm : palette.text,
        weight: isMarked && problem !== 'failed' ? 400 : 650,
        mark: isMarked ? this.signOf(problem) : undefined,
      }
    })
    const mark = worstBehind === worst || worstBehind === 'none' ? undefined : this.signOf(worstBehind)
    const marked = ([first, ...others]: readonly Word[]) =>
      first === undefined ? [] : [mark === undefined ? first : { ...first, mark, weight: 400 }, ...others]
    const found = this.#briefWords(item.key, behind).map((words) => [...own, ...marked(words)])
    const choices = [...(found.length === 0 ? [own] : found), ...(own.length > 0 ? [own.slice(0, 1)] : [])]
    const edge = worst === 'none' ? undefined : this.signOf(worst)
    return { name, counts: texts.coreCounts(behind.assets), choices: choices.filter(({ length }) => length > 0), edge }
  }
}
