import type { TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import type { Box, Point } from './geometry.ts'

/**
 * Arranges the switches of a network as a tree. The root is at the top. Each switch below it that has further switches is the head of
 * a column with these switches in rows. The switches without further switches share the first columns.
 */

export type SwitchTree = {
  boxes: ReadonlyMap<string, Box>
  /** The line from each switch to the switch above it. */
  wires: readonly { from: string; to: string; points: Point[] }[]
  /** The same tree with one box for each column, for a small scale. The first box is the root. */
  summary: { boxes: readonly { keys: readonly string[]; box: Box }[]; wires: readonly Point[][] }
}

type Row = { key: string; depth: number }

const columnsPerBand = 12
const rowsWithoutHeads = 8
/** The sizes of the parts of a cell, and the height of the space below the root in rows. */
const parts = {
  width: 0.86,
  height: 0.74,
  indent: 0.06,
  rootGap: 0.8,
  bandGap: 0.6,
  rootWidth: 2.2,
  widest: 6,
} as const

export function switchTree(
  groups: readonly Pick<TopologyGroup, 'key' | 'parent' | 'place'>[],
  area: Box,
  unitsPerPixel = 1,
): SwitchTree {
  const below = Map.groupBy(groups, ({ parent }) => parent ?? '')
  const root = below.get('')?.[0]?.key
  if (root === undefined) return { boxes: new Map(), wires: [], summary: { boxes: [], wires: [] } }
  const columns = columnsOf(root, below)
  const bands = Math.max(1, Math.ceil(columns.length / columnsPerBand))
  const perBand = Math.ceil(columns.length / bands)
  const rows = Math.max(1, ...columns.map(({ length }) => length))
  const height = area.height / (1 + parts.rootGap + bands * rows + (bands - 1) * parts.bandGap)
  const width = Math.min(area.width / Math.max(1, perBand), height * parts.widest)
  const left = area.x + (area.width - width * perBand) / 2
  const boxes = new Map<string, Box>()
  const boxAt = (x: number, y: number, cellWidth: number): Box => ({
    x: x + (cellWidth * (1 - parts.width)) / 2,
    y: y + (height * (1 - parts.height)) / 2,
    width: cellWidth * parts.width,
    height: height * parts.height,
  })
  const rootWidth = Math.min(area.width, width * parts.rootWidth)
  boxes.set(root, boxAt(area.x + (area.width - rootWidth) / 2, area.y, rootWidth))
  for (const [index, column] of columns.entries()) {
    const x = left + (index % perBand) * width
    const band = Math.floor(index / perBand)
    const top = area.y + height * (1 + parts.rootGap + band * (rows + parts.bandGap))
    for (const [row, { key, depth }] of column.entries()) {
      const indent = width * parts.indent * depth
      const box = boxAt(x, top + row * height, width)
      boxes.set(key, { ...box, x: box.x + indent, width: box.width - indent })
    }
  }
  return {
    boxes,
    wires: wiresOf(groups, { root, boxes, width, gap: height * parts.rootGap }),
    summary: summaryOf(root, columns, { area, unitsPerPixel }),
  }
}

/**
 * The parts of the width of a summary: the root, at most, and the space next to it. The space between two rows contains the line to their
 * boxes. A single column of switches has a part of the height.
 */
const summaryParts = {
  root: 0.318,
  beside: 0.015,
  between: 0.11,
  columns: 0.02,
  single: 0.66,
  rootHeight: 0.98,
} as const
/** The width in pixels with which the texts of the root fit, and the smallest part of the width of a summary for it. */
const summaryRoot = { width: 99, part: 0.2 } as const
/** The width of a box of a summary divided by its height, about. */
const summaryAspect = 2.7

/**
 * Arranges a summary: the root at the left, and the columns as boxes in pairs of rows. A line leads from the root through the space between
 * the two rows of each pair, with a branch to each box, so that no line is behind a box.
 */
function summaryOf(
  root: string,
  columns: readonly Row[][],
  { area, unitsPerPixel }: { area: Box; unitsPerPixel: number },
): SwitchTree['summary'] {
  const middle = area.y + area.height / 2
  const rootWidth = Math.min(
    area.width * summaryParts.root,
    Math.max(area.width * summaryRoot.part, summaryRoot.width * unitsPerPixel),
  )
  const rootHeight = area.height * summaryParts.rootHeight
  const rootBox = { x: area.x, y: middle - rootHeight / 2, width: rootWidth, height: rootHeight }
  const bus = rootBox.x + rootWidth + (area.width * summaryParts.beside) / 2
  const left = rootBox.x + rootWidth + area.width * summaryParts.beside
  const room = area.x + area.width - left
  const start = { x: rootBox.x + rootWidth, y: middle }
  const keysOf = (members: readonly Row[]) => members.map(({ key }) => key)
  const first = { keys: [root], box: rootBox }
  const [single, ...others] = columns
  if (single === undefined) return { boxes: [first], wires: [] }
  if (others.length === 0) {
    const height = area.height * summaryParts.single
    const box = { x: left, y: middle - height / 2, width: room, height }
    return { boxes: [first, { keys: keysOf(single), box }], wires: [[start, { x: left, y: middle }]] }
  }
  const { pairs, perRow } = pairsFor(columns.length, { width: room, height: area.height })
  const band = area.height / pairs
  const between = band * summaryParts.between
  const height = (band - between) / 2 - (pairs > 1 ? between / 4 : 0)
  const cell = room / perRow
  const placed = columns.map((members, index) => {
    const row = Math.floor(index / perRow)
    const trunk = area.y + band * (Math.floor(row / 2) + 0.5)
    const isUpper = row % 2 === 0
    const box = {
      x: left + (index % perRow) * cell,
      y: isUpper ? trunk - between / 2 - height : trunk + between / 2,
      width: cell * (1 - summaryParts.columns),
      height,
    }
    const x = box.x + box.width / 2
    const end = { x, y: isUpper ? box.y + box.height : box.y }
    return {
      keys: keysOf(members),
      box,
      wire: [start, { x: bus, y: middle }, { x: bus, y: trunk }, { x, y: trunk }, end],
    }
  })
  return { boxes: [first, ...placed.map(({ keys, box }) => ({ keys, box }))], wires: placed.map(({ wire }) => wire) }
}

/** Returns the number of pairs of rows with which the boxes have about the intended aspect. */
function pairsFor(count: number, { width, height }: Pick<Box, 'width' | 'height'>): { pairs: number; perRow: number } {
  const choices = Array.from({ length: Math.ceil(count / 2) }, (_, index) => {
    const pairs = index + 1
    const perRow = Math.ceil(count / (2 * pairs))
    return { pairs, perRow, error: Math.abs(Math.log(width / perRow / (height / (2 * pairs)) / summaryAspect)) }
  })
  return choices.reduce((best, choice) => (choice.error < best.error ? choice : best))
}

type Below = ReadonlyMap<string, readonly Pick<TopologyGroup, 'key' | 'place'>[]>

function columnsOf(root: string, below: Below): Row[][] {
  const children = below.get(root) ?? []
  const isHead = (key: string) => (below.get(key) ?? []).length > 0
  const heads = children
    .filter(({ key }) => isHead(key))
    .map(({ key: head }) => {
      const rows: Row[] = []
      const visit = (key: string, depth: number) => {
        rows.push({ key, depth })
        for (const child of below.get(key) ?? []) visit(child.key, depth + 1)
      }
      visit(head, 0)
      return rows
    })
  const rows = Math.max(rowsWithoutHeads, ...heads.map(({ length }) => length))
  const singles = byPlace(children.filter(({ key }) => !isHead(key))).flatMap((members) => {
    const count = Math.ceil(members.length / rows)
    const each = Math.ceil(members.length / Math.max(1, count))
    const single = members.map(({ key }): Row => ({ key, depth: 1 }))
    return Array.from({ length: count }, (_, index) => single.slice(index * each, (index + 1) * each))
  })
  return [...singles, ...heads]
}

/** Divides switches by their places, if there are several switches per place. */
function byPlace<Member extends Pick<TopologyGroup, 'place'>>(switches: readonly Member[]): (readonly Member[])[] {
  const places = [...Map.groupBy(switches, ({ place }) => place?.at(-1)?.key).values()]
  return places.length * 2 <= switches.length ? places : [switches]
}

type WireOptions = { root: string; boxes: ReadonlyMap<string, Box>; width: number; gap: number }

function wiresOf(
  groups: readonly Pick<TopologyGroup, 'key' | 'parent'>[],
  { root, boxes, width, gap }: WireOptions,
): SwitchTree['wires'] {
  return groups.flatMap(({ key, parent }) => {
    const [box, above] = [boxes.get(key), parent === undefined ? undefined : boxes.get(parent)]
    if (box === undefined || above === undefined || parent === undefined) return []
    const middle = box.y + box.height / 2
    if (parent !== root) {
      const spine = above.x + (width * parts.indent) / 2
      const points = [
        { x: spine, y: above.y + above.height },
        { x: spine, y: middle },
        { x: box.x, y: middle },
      ]
      return [{ from: parent, to: key, points }]
    }
    const start = { x: above.x + above.width / 2, y: above.y + above.height }
    const bus = start.y + gap * 0.6
    const spine = box.x - (width * parts.indent) / 2
    const isHead = groups.some((each) => each.parent === key)
    const end = isHead
      ? [
          { x: box.x + box.width / 2, y: bus },
          { x: box.x + box.width / 2, y: box.y },
        ]
      : [
          { x: spine, y: bus },
          { x: spine, y: middle },
          { x: box.x, y: middle },
        ]
    return [{ from: parent, to: key, points: [start, { x: start.x, y: bus }, ...end] }]
  })
}
