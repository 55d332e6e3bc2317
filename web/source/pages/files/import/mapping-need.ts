import { assetHeadings, propertyKeyOf } from '@millwright/api/asset-columns.ts'
import type { MappingSuggestion } from '@millwright/api/imports.ts'

type Target = string | null

/**
 * Returns whether the fields of the columns must be saved as a mapping. Without a mapping, the platform recognises only the
 * headings of the template. A suggestion also recognises other headings and values.
 */
export function needsMapping(
  { columns, mappingId }: MappingSuggestion,
  targets: readonly Target[],
  properties: readonly { key: string; name: string }[],
): boolean {
  if (columns.some(({ to }, index) => to !== targets[index])) return true
  if (mappingId !== undefined) return false
  return columns.some(({ from, to }) => to !== null && !isSame(from, headingOf(to, properties)))
}

/** Returns the heading of a field in the template. */
function headingOf(target: string, properties: readonly { key: string; name: string }[]): string {
  const key = propertyKeyOf(target)
  if (key === undefined) return assetHeadings[target as keyof typeof assetHeadings]
  return properties.find((property) => property.key === key)?.name ?? ''
}

function isSame(heading: string, other: string): boolean {
  return heading.trim().toLowerCase() === other.toLowerCase()
}
