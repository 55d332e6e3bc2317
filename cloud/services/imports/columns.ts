import { assetColumnsOf, assetHeadings, idTarget } from '@millwright/api/asset-columns.ts'
import type { MappedColumn } from '@millwright/api/imports.ts'
import type { CustomProperty } from '@millwright/api/inventory/inventory.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { customProperties } from '../../platform/custom-properties.ts'
import type { Context } from '../../platform/service.ts'

/** The columns of imported tables: the fields of assets that their headings stand for. */

/** Returns the custom properties of the tenant. Every caller that can import files sees their names. */
export function importedProperties(
  context: Context,
  { tenantId, tenantName }: Pick<Caller, 'tenantId' | 'tenantName'>,
): Promise<CustomProperty[]> {
  return customProperties(context, systemCaller({ tenantId, tenantName }))
}

/** Returns a heading in the form in which headings are compared. */
export function plainHeading(heading: string): string {
  return heading
    .toLowerCase()
    .normalize('NFKC')
    .replaceAll(/[\s_./()[\]:*#-]+/g, ' ')
    .trim()
}

/**
 * Returns the fields that the columns of a table are written to. With a saved mapping, only the columns that it names are
 * written. Without a mapping, a column is recognised by the heading of the template, in upper or lower case. Other columns
 * are ignored.
 */
export function mapColumns(
  headings: readonly string[],
  mapping: readonly MappedColumn[] | null,
  properties: readonly Pick<CustomProperty, 'key' | 'name'>[],
): MappedColumn[] {
  const saved = new Map((mapping ?? []).map(({ from, to }) => [plainHeading(from), to]))
  // A custom property can have the name of a field. The field counts, because it comes first in the template.
  const known = new Map(
    [...assetColumnsOf(properties).toReversed(), { heading: assetHeadings.id, target: idTarget }].map(
      ({ heading, target }) => [plainHeading(heading), target],
    ),
  )
  const used = new Set<string>()
  return headings.map((from) => {
    const plain = plainHeading(from)
    const to = mapping === null ? (known.get(plain) ?? null) : (saved.get(plain) ?? null)
    // Two columns cannot be written to the same field. The first one counts.
    if (to === null || used.has(to)) return { from, to: null }
    used.add(to)
    return { from, to }
  })
}

/** Returns the heading of the column of a field, for errors. */
export function headingOf(columns: readonly MappedColumn[], target: string): string | null {
  return columns.find(({ to }) => to === target)?.from ?? null
}
