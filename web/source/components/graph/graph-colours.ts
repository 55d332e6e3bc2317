import type { GraphNode } from '@millwright/api/inventory/inventory.ts'
import type { GraphData } from './graph-data.ts'

/** The properties that nodes can be coloured by. */
export const colourings = ['type', 'management', 'reachability', 'manufacturer'] as const
export type Colouring = (typeof colourings)[number]

export type LegendEntry = {
  value: string
  count: number
  /** The name of the colour token in the design system. */
  colour: string
}

export const otherValue = 'other'
export const unsetValue = 'unset'

/** The colours for the most frequent values. They can be distinguished in the light and the dark theme. */
const categoryColours = [1, 15, 8, 12, 17, 6, 14, 4].map((number) => `--theme-chart-${number}`)
const quietColour = '--theme-color-neutral'

/** The fixed colours of values that have a meaning, for example green for reachable. */
const semanticColours: Readonly<Record<string, string>> = {
  regarded: '--theme-color-success',
  reached: '--theme-color-success',
  failed: '--theme-color-alarm',
  unknown: '--theme-color-info',
  ignored: quietColour,
  node: quietColour,
  [otherValue]: quietColour,
  [unsetValue]: quietColour,
}

export type ColourScheme = { by: Colouring }

export function legendValueOf(node: GraphNode, { by }: ColourScheme): string {
  if (node.type === 'node') return by === 'type' ? 'node' : unsetValue
  const field = {
    type: node.functional_object_type,
    management: node.management_state,
    reachability: node.reachability_state,
    manufacturer: node.manufacturer,
  }[by]
  return field ?? unsetValue
}

/** Returns the legend. The most frequent values come first, and all rare values together are the entry `other`. */
export function legendOf(data: GraphData, scheme: ColourScheme): LegendEntry[] {
  const counts = new Map<string, number>()
  for (const node of data.nodes.values()) {
    const value = legendValueOf(node, scheme)
    counts.set(value, (counts.get(value) ?? 0) + 1)
  }
  const hasMeaning = scheme.by !== 'manufacturer'
  const entries = [...counts].toSorted(([a, one], [b, other]) => other - one || (a < b ? -1 : 1))
  const named = entries.filter(([value]) => value !== unsetValue)
  const shown = named.slice(0, categoryColours.length).map(([value, count], index) => ({
    value,
    count,
    colour: (hasMeaning ? semanticColours[value] : undefined) ?? categoryColours[index] ?? quietColour,
  }))
  const rest = named.slice(categoryColours.length).reduce((sum, [, count]) => sum + count, 0)
  const without = counts.get(unsetValue) ?? 0
  return [
    ...shown,
    ...(rest > 0 ? [{ value: otherValue, count: rest, colour: quietColour }] : []),
    ...(without > 0 ? [{ value: unsetValue, count: without, colour: quietColour }] : []),
  ]
}

/** Returns the value of the legend entry that a node belongs to. */
export function entryOf(node: GraphNode, scheme: ColourScheme, legend: readonly LegendEntry[]): string {
  const value = legendValueOf(node, scheme)
  return legend.some((entry) => entry.value === value) ? value : otherValue
}
