import type { ExportRequest } from '@millwright/api/exports.ts'
import type { Language } from '../../../app/language/language.ts'
import type { ShownColumns } from '../../files/export/export-dialog.tsx'
import { type AssetProperty, placePath } from '../model/asset-property.ts'
import { queryOf, type View } from '../views/view-search.ts'
import type { TableColumn } from './table-columns.ts'

const product = 'product_instance_information/manufacturer_product'

/** The columns of exports for the properties that the asset table can show. */
const exportColumns: Readonly<Record<string, string>> = {
  name: 'name',
  functional_object_type: 'functional_object_type',
  description: 'description',
  firmware_version: 'firmware_version',
  access_group: 'access_group',
  responsible: 'responsible',
  created_timestamp: 'created_timestamp',
  last_modified_timestamp: 'last_modified_timestamp',
  [`${product}/manufacturer/name`]: 'manufacturer',
  [`${product}/product_name`]: 'product',
  [`${product}/product_id`]: 'order_number',
  [`${product}/product_version`]: 'hardware_version',
  'product_instance_information/serial_number': 'serial_number',
  'connection_points/any/ipv4_address': 'ip_address',
  'connection_points/any/mac_address': 'mac_address',
  'management_state/state_value': 'management_state',
  'reachability_state/state_value': 'reachability_state',
  'trust_state/state_value': 'trust_state',
  [placePath]: 'hierarchy_path',
}

/** Returns the columns of the asset table as columns of an export. */
export function shownColumns(
  columns: readonly TableColumn[],
  properties: readonly AssetProperty[],
  language: Language,
): ShownColumns {
  const shown: { columns: string[]; leftOut: string[] } = { columns: [], leftOut: [] }
  for (const { path } of columns) {
    const column = path.startsWith('custom_properties/') ? path : exportColumns[path]
    if (column !== undefined) shown.columns.push(column)
    else shown.leftOut.push(properties.find((property) => property.path === path)?.title[language] ?? path)
  }
  return shown
}

/** Returns the selection of a view as fields of an export. */
export function selectionOf(view: View): Pick<ExportRequest, 'filter' | 'q' | 'sort' | 'caseInsensitive'> {
  const { filter, q, caseInsensitive } = queryOf(view)
  return {
    ...(filter !== '' && { filter }),
    ...(q !== '' && { q }),
    ...(caseInsensitive && { caseInsensitive }),
    ...(view.sort !== '' && { sort: view.sort }),
  }
}
