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

export function switchTree(groups: readonly Pick<TopologyGroup, 'key' | 'parent'>[], area: Box): SwitchTree {
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

/** The parts of the height of a summary: the root, the free space below it, and the rows. A row has a limited number of columns. */
const summaryParts = { root: 0.17, gap: 0.08, rows: 0.75, widest: 3.6, rootWidth: 0.96, perRow: 3, fill: 0.94 } as const
/** With more columns, they share two rows. */
const mostRows = 2

function summaryOf(root: string, columns: readonly Row[][], area: Box): SwitchTree['summary'] {
  const rows = Math.min(mostRows, Math.max(1, Math.ceil(columns.length / summaryParts.perRow)))
  const perRow = Math.max(1, Math.ceil(columns.length / rows))
  const [top, height] = [area.y + area.height * 0.02, (area.height * summaryParts.rows) / rows]
  const rootWidth = Math.min(area.width * summaryParts.rootWidth, height * summaryParts.widest * 2.4)
  const middle = area.x + area.width / 2
  const rootBox = { x: middle - rootWidth / 2, y: top, width: rootWidth, height: area.height * summaryParts.root }
  const width = Math.min(area.width / perRow, height * summaryParts.widest)
  const left = middle - (width * perRow) / 2
  const y = rootBox.y + rootBox.height + area.height * summaryParts.gap
  const boxes = columns.map((members, index) => ({
    keys: members.map(({ key }) => key),
    box: {
      x: left + ((index % perRow) + (1 - summaryParts.fill) * 0.7) * width,
      y: y + Math.floor(index / perRow) * height,
      width: width * summaryParts.fill,
      height: height * summaryParts.fill,
    },
  }))
  const bottom = rootBox.y + rootBox.height
  const bus = (bottom + y) / 2
  const wires = boxes.map(({ box }, index) => {
    const start = [
      { x: middle, y: bottom },
      { x: middle, y: bus },
    ]
    const x = box.x + box.width / 2
    if (index < perRow) return [...start, { x, y: bus }, { x, y: box.y }]
    // A line to the second row leads through the space at the left of the column.
    const spine = box.x - (width * (1 - summaryParts.fill)) / 2
    const half = box.y + box.height / 2
    return [...start, { x: spine, y: bus }, { x: spine, y: half }, { x: box.x, y: half }]
  })
  return { boxes: [{ keys: [root], box: rootBox }, ...boxes], wires }
}

type Below = ReadonlyMap<string, readonly Pick<TopologyGroup, 'key'>[]>

function columnsOf(root: string, below: Below): Row[][] {
  const children = (below.get(root) ?? []).map(({ key }) => key)
  const isHead = (key: string) => (below.get(key) ?? []).length > 0
  const heads = children.filter(isHead).map((head) => {
    const rows: Row[] = []
    const visit = (key: string, depth: number) => {
      rows.push({ key, depth })
      for (const child of below.get(key) ?? []) visit(child.key, depth + 1)
    }
    visit(head, 0)
    return rows
  })
  const rows = Math.max(rowsWithoutHeads, ...heads.map(({ length }) => length))
  const single = children.filter((key) => !isHead(key)).map((key) => ({ key, depth: 1 }))
  const count = Math.ceil(single.length / rows)
  const each = Math.ceil(single.length / Math.max(1, count))
  return [...Array.from({ length: count }, (_, index) => single.slice(index * each, (index + 1) * each)), ...heads]
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
