import { assetSchema, type JsonSchema } from '@millwright/api/asset-schema.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { usageError } from '../output/error-report.ts'
import { type Columns, type Row, valueAt } from '../output/table.ts'
import type { Session } from '../session/session.ts'
import { labelOf } from './asset-labels.ts'

/** The default columns of a list of assets. The option `--columns` replaces them. */
export const assetColumns: Columns = {
  id: 'id',
  name: 'name',
  type: (asset) => labelOf('functional_object_type', asset.functional_object_type),
  vendor: 'product_instance_information.manufacturer_product.manufacturer.name',
  product: 'product_instance_information.manufacturer_product.product_name',
  address: 'connection_points.ipv4_address',
  state: (asset) => labelOf('management_state.state_value', valueAt(asset, 'management_state.state_value')),
  group: 'access_group',
}

/** Columns whose value is computed from the asset. */
const computedColumns: Columns = { firmware_version: firmwareVersionOf }

const state = { properties: { state_value: {}, state_timestamp: {} } }

/** The fields that are not part of the asset schema. The service adds them to an asset when it is read. */
const addedFields: JsonSchema = {
  properties: {
    id: {},
    access_group: {},
    responsible: {},
    management_state: state,
    reachability_state: state,
    trust_state: state,
    custom_properties: { items: { properties: { key: {}, value: {} } } },
    created_timestamp: {},
    last_modified_timestamp: {},
  },
}

/**
 * Returns the columns that `--columns` names. A name is the heading of a default column, or the path of an asset
 * property.
 */
export async function columnsOf(session: Pick<Session, 'api'>, columns: string): Promise<Columns> {
  const names = namesIn(columns)
  const isKnown = (name: string) => Object.hasOwn(assetColumns, name) || Object.hasOwn(computedColumns, name)
  await requireProperties(
    session,
    '--columns',
    names.filter((name) => !isKnown(name)),
  )
  return Object.fromEntries(
    names.map((name) => [
      name.split(/[./]/).at(-1) ?? name,
      computedColumns[name] ?? (Object.hasOwn(assetColumns, name) ? assetColumns[name] : undefined) ?? name,
    ]),
  )
}

/**
 * Properties that can be written with an asset but are not part of lists. The value is the command that shows the
 * property.
 */
const separateLists: Readonly<Record<string, string>> = {
  asset_identifiers: 'millwright assets identifiers <asset>',
  asset_relations: 'millwright relations list --asset <asset>',
}

/** Throws a usage error unless lists of this tenant's assets can contain these properties. */
export async function requireProperties(
  { api }: Pick<Session, 'api'>,
  option: string,
  names: readonly string[],
): Promise<void> {
  const separate = names.map((name) => name.split(/[./]/)[0] ?? '').find((name) => Object.hasOwn(separateLists, name))
  if (separate !== undefined)
    throw usageError(`${option}: lists of assets do not contain ${separate}.`, `Use ${separateLists[separate]}`)
  const unknownIn = (schemas: readonly JsonSchema[]) =>
    names.filter((name) => !schemas.some((schema) => hasPath(schema, name.split(/[./]/), schema)))
  if (unknownIn([assetSchema, addedFields]).length === 0) return
  const [unknown] = unknownIn([assetSchema, addedFields, ...(await ownSchemas(api))])
  if (unknown === undefined) return
  throw usageError(
    `${option}: assets have no property "${unknown}".`,
    `Use ${namesFor(option).join(', ')}, or the path of a property inside one of them, such as management_state/state_value`,
  )
}

export function namesIn(list: string): string[] {
  return list.split(',').map((name) => name.trim())
}

/** Returns the schemas that the tenant has added. They may define additional properties of assets. */
async function ownSchemas(api: Session['api']): Promise<JsonSchema[]> {
  const schemas: JsonSchema[] = []
  const limit = 100
  for (let offset = 0; ; offset += limit) {
    const { data } = await api(inventory).listSchemas({ query: { limit, offset } })
    for (const { url, builtIn } of data) {
      if (!builtIn) schemas.push((await api(inventory).readSchema({ query: { url } })).data.schema as JsonSchema)
    }
    if (data.length < limit) return schemas
  }
}

/**
 * Returns the names that an error message suggests: the properties that lists contain and, for `--columns`, the
 * headings of columns.
 */
function namesFor(option: string): string[] {
  const schema = assetSchema as { $defs: Record<string, { properties?: object }> }
  const fields = [addedFields, schema.$defs.Device, schema.$defs.SoftwareArtifact]
  const names = fields.flatMap((each) => Object.keys((each as { properties?: object } | undefined)?.properties ?? {}))
  const headings = option === '--columns' ? [...Object.keys(assetColumns), ...Object.keys(computedColumns)] : []
  const listed = names.filter((name) => !Object.hasOwn(separateLists, name))
  return [...new Set([...headings, ...listed])].toSorted()
}

/**
 * Returns true when a value of the schema can have a property at this path. For an array, the schema of its items is
 * searched.
 */
function hasPath(schema: unknown, path: readonly string[], root: JsonSchema, depth = 0): boolean {
  if (depth > 64 || typeof schema !== 'object' || schema === null) return false
  const [name = '', ...rest] = path
  const inner = (part: unknown, left: readonly string[] = path) => hasPath(part, left, root, depth + 1)
  const { properties, $ref, items, then, else: otherwise, allOf, anyOf, oneOf } = schema as Record<string, unknown>
  const property =
    typeof properties === 'object' && properties !== null && Object.hasOwn(properties, name)
      ? (properties as Record<string, unknown>)[name]
      : undefined
  if (property !== undefined && (rest.length === 0 || inner(property, rest))) return true
  const choices = [allOf, anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? list : []))
  return [items, then, otherwise, ...choices, referenced($ref, root)].some((part) => inner(part))
}

function referenced(reference: unknown, root: JsonSchema): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return undefined
  return reference
    .slice(2)
    .split('/')
    .reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], root)
}

/** Returns the version of the asset's first firmware component. The API sorts and filters by the same value. */
function firmwareVersionOf(asset: Row): unknown {
  type Artifact = { is_firmware?: boolean; asset_identifiers?: { asset_identifier_type?: string; version?: string }[] }
  const components = (asset.software_components ?? []) as { artifact?: Artifact }[]
  const firmware = components.find(({ artifact }) => artifact?.is_firmware === true)?.artifact
  return firmware?.asset_identifiers?.find(({ asset_identifier_type: type }) => type === 'SoftwareIdentifier')?.version
}
