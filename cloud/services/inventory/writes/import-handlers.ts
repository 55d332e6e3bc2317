import { identifiersOfCells, idTarget } from '@millwright/api/asset-columns.ts'
import type { ImportedRow, RowDecision } from '@millwright/api/inventory/import-rows.ts'
import { type CustomProperty, type inventory, managementStates } from '@millwright/api/inventory/inventory.ts'
import { Problem, type ProblemDocument } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { permissionDeniedIn } from '../../../platform/access/permission-denied.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { isId } from '../../../platform/database/id.ts'
import { createYield } from '../../../platform/event-loop.ts'
import { answer, type Handlers } from '../../../platform/service.ts'
import { isObject, objectsOf } from '../assets/document.ts'
import { propertyText } from '../assets/property.ts'
import { findProperties } from '../assets/property-store.ts'
import type { InventoryContext } from '../context.ts'
import { storedIdentifier } from '../identity/identifier.ts'
import { loadBatch } from './batch.ts'
import { cellPointer, fieldsOfCells, propertyCells } from './cell-fields.ts'
import {
  connectionPerStatement,
  defaultGroupOf,
  type GroupsByName,
  invalid,
  mayWriteAnywhere,
  normalisedAsset,
  writableGroup,
} from './handlers.ts'
import { applyRows, importRows } from './import-rows.ts'
import { itemOrRefusal } from './item-result.ts'
import type { PutResult } from './put.ts'
import { findStatus } from './queue-store.ts'
import type { ImportItem, ImportPayload, Sender } from './write.ts'

const permission = 'inventory_write_asset_data'

type Names = 'importRows' | 'previewRows'

/** Handlers for the import service. They check the rows of a file as far as possible before they accept them. */
export function importRowHandlers(own: InventoryContext): Pick<Handlers<typeof inventory>, Names> {
  const { database, acceptor, context, schemas } = own
  return {
    async importRows({ body: { data } }, caller) {
      const { writeId } = data
      const accepted = () => answer(202, { data: { statusId: writeId } })
      const isAccepted = (handle: Handle) => findStatus(handle, writeId)
      if ((await database.read(caller, isAccepted)) !== undefined) return accepted()
      const checked = await payloadOf(own, caller, data.rows)
      const payload = data.import === undefined ? checked : { ...checked, import: data.import }
      await database.transaction(caller, async (tx) => {
        if ((await isAccepted(tx)) !== undefined) return
        const request = { kind: 'import-rows', action: 'inventory.importRows', payload } as const
        await acceptor.accept({ ...caller, transaction: tx }, request, writeId)
      })
      return accepted()
    },

    async previewRows({ body: { data } }, caller) {
      const payload = await payloadOf(own, caller, data.rows)
      const sender = senderOf(caller)
      const results = await database.transaction(caller, async (tx) => {
        const needs = [{ sender, needs: importRows.needs(payload) }]
        const batch = await loadBatch(tx, needs, { relationsLocked: false })
        if (batch === undefined) throw new Problem('unavailable', 'The assets are being changed. Retry later')
        const writing = {
          tx,
          batch,
          id: context.settings.baseUrl,
          sender,
          rights: caller.rights,
          schemas,
          relationsMerged: 0,
          yieldTurn: createYield(caller.tenantId),
        }
        // The changes are only decided. Nothing saves them.
        return applyRows(writing, payload)
      })
      return { data: results.map(decisionOf) }
    },
  }
}

function senderOf({ principal, roles, token }: Caller): Sender {
  return {
    principalId: principal.id,
    principalKind: principal.kind,
    principalName: principal.name,
    roles: [...roles],
    grants: token?.grants === undefined ? null : [...token.grants],
  }
}

/** Returns a result in the form of the API. An asset that does not exist yet has no id. */
function decisionOf(result: PutResult | ProblemDocument): RowDecision {
  if (!('outcome' in result)) {
    const { code, detail, errors } = result
    return { code, detail, ...(errors === undefined ? {} : { errors }) }
  }
  const { outcome, assetId, matchedBy } = result
  return {
    outcome,
    ...(outcome === 'created' ? {} : { assetId }),
    ...(matchedBy === undefined ? {} : { matchedBy }),
  }
}

type Checks = {
  handle: Handle
  caller: Caller
  groups: GroupsByName
  defaultGroupId: string
  properties: Awaited<ReturnType<typeof findProperties>>
}

async function payloadOf(own: InventoryContext, caller: Caller, rows: readonly ImportedRow[]): Promise<ImportPayload> {
  // Validation may wait for the worker process that validates uploaded schemas, so no connection is held between the
  // statements.
  const handle = connectionPerStatement(own.database, caller)
  const parsed = rows.map(parseRow)
  const yieldTurn = createYield(caller.tenantId)
  const faults = await own.schemas.faultsOfWrites(
    handle,
    parsed.map(({ document }) => document),
  )
  const keys = [...new Set(parsed.flatMap(({ properties }) => properties.map(({ key }) => key)))].filter(isId)
  const defaultGroupId = await defaultGroupOf(own, handle)
  const properties = keys.length === 0 ? new Map() : await findProperties(handle, keys)
  const checks: Checks = { handle, caller, groups: new Map(), defaultGroupId, properties }
  const items: ImportPayload['items'] = []
  for (const [index, row] of parsed.entries()) {
    await yieldTurn()
    items.push(await itemOrRefusal(() => checkedItem(checks, row, [...row.faults, ...(faults[index] ?? [])])))
  }
  return { items, defaultGroupId }
}

type ParsedRow = ReturnType<typeof parseRow>

/** A valid placeholder for the identifiers of a row that only names the id of its asset. */
const anyIdentifiers = [{ asset_identifier_type: 'CustomIdentifier', name: 'any', value: 'any' }]

/** Returns the asset of a row in the form in which it is validated, and the parts that are not validated by its schema. */
function parseRow({ cells, document: sent }: ImportedRow) {
  if (cells !== undefined) {
    const identifiers = identifiersOfCells(cells)
    const fields = { functional_object_type: 'Device', ...fieldsOfCells({}, cells) }
    const { document, faults } = normalisedAsset({
      ...fields,
      asset_identifiers: identifiers.length === 0 ? anyIdentifiers : identifiers,
    })
    const { access_group: group = '', [idTarget]: id = '' } = cells
    const all = [...faults, ...roundedCells(cells)]
    return { cells, document, faults: all, identifiers, group, id: id.toLowerCase(), properties: propertyCells(cells) }
  }
  const { id, access_group: group, asset_identifiers: identifiers, custom_properties: values, ...rest } = sent ?? {}
  const own = objectsOf(identifiers)
  const { management_state: management, responsible, ...written } = rest
  const { document, faults } = normalisedAsset({
    functional_object_type: 'Device',
    ...withoutPlatformFields(written),
    asset_identifiers: own.length === 0 ? anyIdentifiers : identifiers,
  })
  const properties = objectsOf(values).flatMap(({ key, value }) =>
    typeof key === 'string' && value !== undefined && value !== null
      ? [{ key: key.toLowerCase(), value: String(value) }]
      : [],
  )
  const state = isObject(management) ? management.state_value : undefined
  return {
    document,
    faults,
    identifiers: own,
    group: typeof group === 'string' ? group : '',
    id: typeof id === 'string' ? id.toLowerCase() : '',
    hasType: rest.functional_object_type !== undefined,
    properties,
    ...(managementStates.some((known) => known === state) ? { state: String(state) } : {}),
    ...(typeof responsible === 'string' && responsible !== '' ? { responsible } : {}),
  }
}

/** The notation in which spreadsheet programs show large numbers. */
const scientific = /^\d(?:[.,]\d+)?E\+\d+$/i

/** Returns the faults of identifying cells that a spreadsheet program rounded: different assets would become the same asset. */
function roundedCells({ [idTarget]: id = '', ...cells }: Readonly<Record<string, string>>) {
  if (id !== '') return []
  return ['serial_number', 'order_number'].flatMap((target) => {
    const cell = cells[target] ?? ''
    if (!scientific.test(cell)) return []
    const detail = `is ${cell}, a number that a spreadsheet program rounded. Format the column as text, and enter all digits`
    return [{ pointer: `/${target}`, code: 'pattern', detail }]
  })
}

/** Removes the fields of an exported document that only the platform writes. */
function withoutPlatformFields(document: Record<string, unknown>): Record<string, unknown> {
  const {
    reachability_state: _reachability,
    trust_state: _trust,
    created_timestamp: _created,
    last_modified_timestamp: _modified,
    hierarchy_path: _path,
    parent: _parent,
    ...rest
  } = document
  return rest
}

async function checkedItem(checks: Checks, row: ParsedRow, faults: ParsedRow['faults']): Promise<ImportItem> {
  const { handle, caller, groups, defaultGroupId } = checks
  const isTable = row.cells !== undefined
  const shown = isTable ? faults.map((fault) => ({ ...fault, pointer: cellPointer(fault.pointer) })) : faults
  if (shown.length > 0) throw invalid(shown, '')
  if (row.id !== '' && !isId(row.id)) throw invalid([{ pointer: '/id', code: 'pattern', detail: 'must be a UUID' }], '')
  if (row.id === '' && row.identifiers.length === 0) throw withoutIdentifier()
  const accessGroupId =
    row.group === ''
      ? undefined
      : await writableGroup(handle, caller, { group: row.group, pointer: '/access_group', groups })
  if (accessGroupId === undefined && !mayWriteAnywhere(caller, defaultGroupId))
    throw await permissionDeniedIn(handle, caller, { permission, accessGroupId: defaultGroupId })
  const { asset_identifiers: identifiers, asset_relations: _, functional_object_type: type, ...fields } = row.document
  // A document without a type does not change the type of an existing asset.
  const asset = 'hasType' in row && row.hasType ? { functional_object_type: type, ...fields } : fields
  const ownIdentifiers = row.identifiers.length === 0 ? [] : objectsOf(identifiers).map(storedIdentifier)
  return {
    ...(isTable ? { cells: row.cells } : { asset }),
    identifiers: [...new Map(ownIdentifiers.map((identifier) => [identifier.key, identifier])).values()],
    ...(row.id === '' ? {} : { assetId: row.id }),
    ...(accessGroupId === undefined ? {} : { accessGroupId }),
    properties: row.properties.map((property) => checkedProperty(checks, property)),
    ...('state' in row && row.state !== undefined
      ? { states: [{ state: 'management_state' as const, value: row.state }] }
      : {}),
    ...('responsible' in row && row.responsible !== undefined ? { responsible: row.responsible } : {}),
  }
}

function withoutIdentifier(): Problem {
  const detail = 'The row has no identifier. Enter a MAC address, or a serial number with its manufacturer'
  return new Problem('invalid_asset', detail, { errors: [{ pointer: '', code: 'missing', detail }] })
}

/** The texts of truth values in tables. */
const truthValues: Readonly<Record<string, string>> = {
  true: 'true',
  yes: 'true',
  wahr: 'true',
  ja: 'true',
  false: 'false',
  no: 'false',
  falsch: 'false',
  nein: 'false',
}

function checkedProperty({ properties }: Checks, { key, value }: { key: string; value: string }) {
  const pointer = `/custom_properties/${key}`
  const definition = properties.get(key)
  if (definition === undefined) {
    const detail = 'is not a custom property of this tenant'
    throw new Problem('property_not_found', `${pointer} ${detail}`, {
      errors: [{ pointer, code: 'property_not_found', detail }],
    })
  }
  return { key, value: propertyText(definition, tableValue(definition, value), pointer) }
}

/** Returns a value of a table in the form of the API: truth values in words, and dates with the day first. */
function tableValue({ data_type: type }: Pick<CustomProperty, 'data_type'>, value: string): string {
  if (type === 'boolean') return truthValues[value.toLowerCase()] ?? value
  if (type !== 'date') return value
  const [, day, month, year] = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/.exec(value) ?? []
  if (day === undefined || month === undefined) return value
  return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
}
