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

export function switchTree(groups: readonly Pick<TopologyGroup, 'key' | 'parent' | 'place'>[], area: Box): SwitchTree {
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
    summary: summaryOf(root, columns, area),
  }
}

/**
 * The parts of the height of a summary for the root and for the space above each row, and the largest part of a row for this space. The line
 * at the left of each column has a part of the width, and is in the middle of it, about.
 */
const summaryParts = { root: 0.22, gap: 0.055, gapOfRow: 0.2, lane: 0.026, line: 0.45 } as const
/** The number of boxes in a row, and the largest width of a box divided by its height. Lower boxes are in longer rows. */
const summaryRow = { boxes: 3, widest: 6 } as const
/** A row is at most as high as with this number of rows, so that the boxes of all networks have about the same height. */
const fewestRows = 2

/**
 * Arranges a summary: the root at the top over the whole width, and the columns as boxes in rows below it. A line leads from the root down
 * the left side of each column of boxes, with a branch to each box, so that no line is behind a box.
 */
function summaryOf(root: string, columns: readonly Row[][], area: Box): SwitchTree['summary'] {
  const rootBox = { ...area, height: area.height * summaryParts.root }
  const bottom = rootBox.y + rootBox.height
  const room = area.height - rootBox.height
  const perRow = boxesPerRow(columns.length, { width: area.width, height: room })
  const cell = area.width / Math.max(1, perRow)
  const row = room / Math.max(fewestRows, Math.ceil(columns.length / Math.max(1, perRow)))
  const lane = area.width * summaryParts.lane
  const gap = Math.min(area.height * summaryParts.gap, row * summaryParts.gapOfRow)
  const boxes = columns.map((members, index) => ({
    keys: members.map(({ key }) => key),
    box: {
      x: area.x + (index % perRow) * cell + lane,
      y: bottom + Math.floor(index / perRow) * row + gap,
      width: cell - lane,
      height: row - gap,
    },
  }))
  const wires = boxes.map(({ box }) => {
    const x = box.x - lane * (1 - summaryParts.line)
    const y = box.y + box.height / 2
    return [
      { x, y: bottom },
      { x, y },
      { x: box.x, y },
    ]
  })
  return { boxes: [{ keys: [root], box: rootBox }, ...boxes], wires }
}

/** Returns the number of boxes in a row of a summary. */
function boxesPerRow(count: number, { width, height }: Pick<Box, 'width' | 'height'>): number {
  let perRow = Math.min(count, summaryRow.boxes)
  while (perRow < count && width / perRow > (height / Math.ceil(count / perRow)) * summaryRow.widest) perRow++
  return perRow
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
