import type { TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { onScreen } from './camera.ts'
import { lowered, lowestLine } from './card-lines.ts'
import type { Box } from './geometry.ts'
import { commonOf, MapPen, sizes, type Word } from './map-pen.ts'
import { distinctName } from './names.ts'
import { isWorse, type ProblemTexts, withNumbers, worstProblem } from './problems.ts'
import { isCoreSwitch, isSwitches, type SceneItem } from './scene.ts'
import { isOutdatedWithAssets, ownProblems } from './signs.ts'
import { isAtPlaceOf, withoutSwitch } from './switch-networks.ts'
import {
  briefTexts,
  completeTexts,
  fittingStyle,
  inForm,
  sharedForm,
  type TitleForm,
  type TitleWidths,
} from './title-form.ts'

/** The sizes of the texts of a box. All boxes of the map have the largest one with which their texts fit. */
const textSizes = [15, 14, 13, sizes.text] as const
/** The space before, behind, and above and below the texts of a box, and between two texts in a line. */
const pad = { start: 9, end: 6, line: 6 } as const
const gap = 5
/** The distance of the two lines of a box in relation to their text. */
const lineStep = 1.2

/** The sizes of the texts of all core switches and of their problems, and their form. */
type CoreSizes = { size: number; small: number }
type CoreStyle = CoreSizes & { form: TitleForm | undefined }
/** Smaller problems are better than a smaller name. */
const coreSizes: readonly CoreSizes[] = [
  { size: 15, small: 15 },
  { size: 14, small: 14 },
  { size: 13, small: 13 },
  { size: 13, small: sizes.text },
  { size: sizes.text, small: sizes.text },
]

/** `SwitchPen` draws the boxes in the summary of a network: its core switch, and the boxes of its other switches. */
export class SwitchPen extends MapPen {
  /** Whether the cards show states, and neither changes nor an impact. */
  protected get showsStates(): boolean {
    const { showsChanges, marks } = this.options.view
    return !showsChanges && marks === undefined
  }

  /** Draws the name of several switches with their number of assets, and their problems below it, or next to it in a low box. */
  protected switches(item: SceneItem, group: TopologyGroup, box: Box): void {
    const { palette, view } = this.options
    const countSize = this.#countSize
    const size = countSize ?? sizes.text
    const x = box.x + pad.start
    const width = box.width - pad.start - pad.end
    const choices = this.#boxProblems(item.key, group)
    const hasSecond = choices.length > 0 && box.height >= 2 * pad.line + size + lowestLine
    const step = hasSecond ? Math.min(size * lineStep, box.height - 2 * pad.line - size) : 0
    const y = box.y + box.height / 2 - step / 2 + lowered
    this.font(size, 650)
    const used = this.text(this.#nameOf(item, group), { x, y, width, colour: palette.text })
    const beside = { x: x + width, y, width: width - used - gap, size, isRight: true }
    if (choices.length > 0 && !hasSecond && this.words(this.#briefWords(item.key, group), beside) > 0) return
    // A comparison shows the numbers of changes, and no other numbers.
    if (!view.showsChanges && countSize !== undefined) this.longest([this.#countOf(item, group)], beside)
    if (!hasSecond) return
    this.words(choices, { x, y: y + step, width, size })
  }

  /** Returns the problems of a box. Without space for the words of all of them, only the last one has words. */
  #boxProblems(key: string, group: TopologyGroup): (readonly Word[])[] {
    const [complete, ...shorter] = this.#briefWords(key, group)
    if (complete === undefined || !this.showsStates) return this.#briefWords(key, group)
    return [complete, withNumbers(complete, this.options.texts.number), ...shorter]
  }

  /** Returns the problems without their longer texts, so that all boxes have the same words. */
  #briefWords(key: string, group: TopologyGroup, texts: ProblemTexts = this.options.texts): (readonly Word[])[] {
    const words = this.wordsOf(key, group, texts)
    return this.showsStates ? briefTexts(words) : words
  }

  #nameOf(item: SceneItem, group: TopologyGroup): string {
    return distinctName(this.options.texts.shortNameOf(group), commonOf(item))
  }

  /** Returns the number of assets of a box. Next to a core switch of the same place, the assets at this switch are not in the box. */
  #countOf(item: SceneItem, group: TopologyGroup): string {
    const { shortCount, moreAssets } = this.options.texts
    return this.#haveMore && hasCoreAssets(item, group) ? moreAssets(group.assets) : shortCount(group)
  }

  /** Whether all boxes that are at the place of their core switch have space for the longer text. */
  get #haveMore(): boolean {
    const size = this.#countSize
    this.#foundMore ??=
      size !== undefined &&
      this.#haveCounts(size, (item, group) => {
        const { shortCount, moreAssets } = this.options.texts
        return hasCoreAssets(item, group) ? moreAssets(group.assets) : shortCount(group)
      })
    return this.#foundMore
  }

  #foundMore: boolean | undefined

  /** The largest size with which the boxes of all networks have space for their number of assets next to their name, if there is one. */
  get #countSize(): number | undefined {
    this.#foundSize ??= {
      size: textSizes.find((size) => this.#haveCounts(size, (_, group) => this.options.texts.shortCount(group))),
    }
    return this.#foundSize.size
  }

  #foundSize: { size: number | undefined } | undefined

  #haveCounts(size: number, textOf: (item: SceneItem, group: TopologyGroup) => string): boolean {
    const { camera } = this.options
    return this.#summaryItems().every(({ item, group }) => {
      if (!isSwitches(group)) return true
      const box = onScreen(camera, item.box)
      const isLow = box.height < 2 * pad.line + size + size * lineStep
      this.font(size, 650)
      const name = this.context.measureText(this.#nameOf(item, group)).width
      this.font(size, 400)
      const count = this.context.measureText(textOf(item, group)).width
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
   * Draws the texts of a core switch in one line: its name and the number of assets at it, and at the right its own problems and those of
   * these assets. All core switches have the same texts. Without space for all of them, the problems are shorter, and then the number is
   * left out.
   */
  protected coreSwitch(item: SceneItem, group: TopologyGroup, box: Box): void {
    const { palette } = this.options
    const x = box.x + pad.start
    const y = box.y + box.height / 2 + lowered
    const room = box.width - pad.start - pad.end
    const { name, counts, choices, edge } = this.#coreTexts(item, group)
    if (edge !== undefined) this.edge(box, edge)
    const { size, small, form } = this.#coreStyle(room)
    const right = { x: x + room, y, width: room, size: small, isRight: true }
    const shown = form === undefined ? choices.at(-1) : inForm(completeTexts(choices), form.problems)
    const problems = shown === undefined ? 0 : gap + this.words([shown], right)
    this.font(size, 650)
    const used = this.text(name, { x, y, width: room - problems, colour: palette.text, isEnd: true })
    const count = form === undefined ? '' : (inForm(counts, form.count) ?? '')
    this.longest([count], { x: x + used + gap, y, width: room, size })
  }

  /** Returns the first style with the longest form that fits. */
  #coreStyle(room: number): CoreStyle {
    this.#foundStyle ??= this.#styleFor(room)
    return this.#foundStyle
  }

  #foundStyle: CoreStyle | undefined

  #styleFor(room: number): CoreStyle {
    const largest = this.#countSize ?? sizes.text
    const styles = coreSizes
      .filter(({ size }) => size <= largest)
      .map((each) => ({ ...each, form: sharedForm(this.#coreWidths(each), { room, gap }) }))
    return fittingStyle(styles) ?? { size: sizes.text, small: sizes.text, form: styles.at(-1)?.form }
  }

  #coreWidths({ size, small }: CoreSizes): TitleWidths[] {
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
          problems: completeTexts(choices).map((words) => this.widthOf(words, small)),
        }
      })
  }

  /** Returns the texts of a core switch, and its edge: its worst problem or the one of the assets at it. */
  #coreTexts(item: SceneItem, group: TopologyGroup) {
    const { texts, palette } = this.options
    const name = this.#nameOf(item, group)
    if (!this.showsStates)
      return { name, counts: [texts.coreSwitchRole, ''], choices: this.#briefWords(item.key, group), edge: undefined }
    const behind = withoutSwitch(group)
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
    // The switch and the assets at it have one text if both are outdated.
    const areBothOutdated = isOutdatedWithAssets(group, this.average)
    const separate = areBothOutdated ? own.slice(0, -1) : own
    const joined = areBothOutdated ? { outdatedPart: texts.outdatedWithSwitch } : {}
    const [long = []] = this.#briefWords(item.key, behind, { ...texts, ...texts.atSwitch, ...joined })
    const [short = []] = this.#briefWords(item.key, behind, { ...texts, ...joined })
    const choices = [[...separate, ...long], [...separate, ...short], [...own, ...short].slice(0, 1)]
    const edge = worst === 'none' ? undefined : this.signOf(worst)
    return {
      name,
      counts: [texts.plusAssets(behind.assets), ''],
      choices: choices.filter(({ length }) => length > 0),
      edge,
    }
  }
}

/** Returns whether the core switch of the same summary is at the place of a box. */
function hasCoreAssets({ parent }: SceneItem, group: TopologyGroup): boolean {
  return isAtPlaceOf(parent.items.find((item) => item.group !== undefined && isCoreSwitch(item.group))?.group, group)
}
