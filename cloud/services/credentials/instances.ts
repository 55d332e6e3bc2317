import type { credentials } from '@millwright/api/credentials.ts'
import { type CredentialInstanceChange, credentialLimits } from '@millwright/api/credentials-shapes.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { fieldProblem } from '../../platform/field-problem.ts'
import { etagOf, requireMatch } from '../../platform/http/etag.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { readableScope, readableUses, withoutHiddenAssets } from './asset.ts'
import { candidateOf } from './choice.ts'
import { locationOf, missingInstance, showInstance, showListedInstance, showVersion } from './instance.ts'
import * as store from './instance-store.ts'
import { addInstance, changeInstance, reportChange } from './instance-writes.ts'
import { type Address, blockKeysContaining, parseAddress, parseRanges, showAddress, showRange } from './ip-range.ts'
import type { SchemaChecks } from './schema-checks.ts'
import { findSchema, holdSchema } from './schema-store.ts'
import { openValues, sealValues } from './sealed-values.ts'
import { triedOrder } from './selection.ts'
import { templatesOf } from './template-store.ts'
import {
  acceptedOthers,
  lastDeliveries,
  lastRefusals,
  lastSuccesses,
  placesOfUses,
  refusalsAt,
  summarizeLogins,
  type UseRow,
  usesAtAddress,
} from './use-store.ts'
import { changedFields, mergedValues, requireBounded, type StoredValues } from './values.ts'

type Operations =
  | 'createInstance'
  | 'listInstances'
  | 'getInstance'
  | 'updateInstance'
  | 'deleteInstance'
  | 'listInstanceVersions'
  | 'readInstanceUsage'
  | 'listRefusals'

export function instanceHandlers(
  context: Context,
  checks: SchemaChecks,
): Pick<Handlers<typeof credentials>, Operations> {
  const { database, safe } = context
  return {
    async createInstance({ body: { data } }, caller) {
      const ranges = parseRanges(data.metadata.ipRanges, '/data/metadata/ipRanges')
      const id = newId()
      // Validation may wait for the worker process that validates uploaded schemas, so it runs outside a transaction.
      const credentialSchema = await database.read(caller, (handle) => findSchema(handle, data.schemaId))
      if (credentialSchema === undefined) throw schemaMissing(data.schemaId)
      const { values, shown } = await checks.accept(caller.tenantId, credentialSchema, data.values)
      return database.transaction(caller, async (tx) => {
        const schema = await holdSchema(tx, data.schemaId)
        if (schema === undefined) throw schemaMissing(data.schemaId)
        if (schema.version !== credentialSchema.version)
          throw new Problem('conflict', 'The credential schema was changed by another request. Retry the request.')
        const binding = { instanceId: id, schemaId: schema.id }
        const row = await addInstance(tx, caller, {
          id,
          schemaId: schema.id,
          name: data.name,
          shown,
          sealed: await sealValues({ safe, tx }, binding, values),
          ranges,
          purpose: data.metadata.purpose ?? null,
          assetId: null,
          copiedFrom: null,
        })
        await reportChange(tx, caller, { action: 'createInstance', event: 'created', row })
        return answer(201, { data: showInstance(row) }, { location: locationOf(id), etag: etagOf(row.version) })
      })
    },

    async listInstances({ query: { limit = 50, offset = 0, address, ...filter } }, caller) {
      const place = address === undefined ? undefined : addressOf(address)
      const blocks = place === undefined ? {} : { blocks: blockKeysContaining(place) }
      const { rows, total } = await database.read(caller, (handle) =>
        store.listInstances(handle, { ...filter, ...blocks }, { limit, offset }),
      )
      const order = place === undefined ? undefined : await orderAt(caller, place)
      const ids = rows.map(({ id }) => id)
      const scope = await readableScope(context, caller, () =>
        database.read(caller, (handle) => placesOfUses(handle, ids)),
      )
      const logins = await database.read(caller, (handle) => summarizeLogins(handle, ids, scope))
      const loginsById = new Map(logins.map((row) => [row.instanceId, row]))
      const data = (await withoutHiddenAssets(context, caller, rows)).map((row) =>
        showListedInstance(row, { logins: loginsById.get(row.id), order: order?.get(row.id) }),
      )
      return { data, meta: { totalElements: total, elements: rows.length, offset } }
    },

    async getInstance({ params: { instanceId } }, caller) {
      return respond(caller, await database.read(caller, (handle) => get(handle, instanceId)))
    },

    async updateInstance({ params: { instanceId }, headers, body: { data } }, caller) {
      const ranges =
        data.metadata?.ipRanges === undefined
          ? undefined
          : parseRanges(data.metadata.ipRanges, '/data/metadata/ipRanges')
      const valueChange = { instanceId, ifMatch: headers['if-match'], change: data.values }
      const updated = await withCheckedValues(caller, valueChange, async (tx, before, changed) => {
        const ipRanges = ranges?.map(showRange) ?? before.ipRanges
        const purpose = data.metadata?.purpose === undefined ? before.purpose : data.metadata.purpose
        const after = { ...changed.row, name: data.name ?? before.name, ipRanges, purpose }
        const fields = [...fieldsOf(before, after), ...changed.fields]
        if (fields.length === 0) return before
        const row = await changeInstance(tx, caller, { after, fields, change: 'updated' })
        await reportChange(tx, caller, { action: 'updateInstance', event: 'updated', row, detail: { fields } })
        return row
      })
      return respond(caller, updated)
    },

    async deleteInstance({ params: { instanceId }, headers }, caller) {
      return database.transaction(caller, async (tx) => {
        const row = await lock(tx, instanceId)
        requireMatch(headers['if-match'], row.version)
        await store.deleteInstance(tx, instanceId)
        await reportChange(tx, caller, { action: 'deleteInstance', event: 'deleted', row })
        return answer(204)
      })
    },

    async listInstanceVersions({ params: { instanceId }, query: { limit = 50, offset = 0 } }, caller) {
      return database.read(caller, async (handle) => {
        const { version } = await get(handle, instanceId)
        const data = (await store.listVersions(handle, instanceId, { limit, offset })).map(showVersion)
        return { data, meta: { totalElements: version, elements: data.length, offset } }
      })
    },

    async readInstanceUsage({ params: { instanceId } }, caller) {
      const { others, ...usage } = await database.read(caller, async (handle) => {
        await get(handle, instanceId)
        return usageOf(handle, instanceId)
      })
      const copies = await withoutHiddenAssets(context, caller, usage.copies)
      const uses = [...usage.associations, ...usage.refusals, ...usage.deliveries, ...others]
      const isReadable = await readableUses(context, caller, uses)
      const accepting = new Set(others.filter(isReadable).map(placeOf))
      return {
        data: {
          ...usage,
          copies: copies.filter(({ assetId }) => assetId !== null),
          associations: usage.associations.filter(isReadable),
          refusals: usage.refusals
            .filter(isReadable)
            .map((refusal) => ({ ...refusal, acceptsOther: accepting.has(placeOf(refusal)) })),
          deliveries: usage.deliveries.filter(isReadable),
        },
      }
    },

    async listRefusals({ query: { gatewayId, resourceIdentifier, addresses } }, caller) {
      const places = [...new Set(addresses.split(',').map((text) => showAddress(addressOf(text))))]
      if (places.length > credentialLimits.refusalAddresses)
        throw new Problem(
          'invalid_range',
          `More than ${credentialLimits.refusalAddresses} addresses. Send several requests`,
        )
      const rows = await database.read(caller, (handle) =>
        refusalsAt(handle, {
          gatewayId,
          addresses: places,
          identifier: resourceIdentifier,
          limit: credentialLimits.refusals,
        }),
      )
      const refusals = rows.map(({ assetId, failedAt, ...row }) => ({
        ...row,
        ...(assetId === null ? {} : { assetId }),
        lastFailedTimestamp: failedAt,
      }))
      return { data: refusals.filter(await readableUses(context, caller, refusals)) }
    },
  }

  /**
   * Returns the places of instances in the order in which a scan tries them at an address. The order is computed from the
   * instances that apply to the address and that changed last. It is empty if it depends on an asset that the caller cannot read.
   */
  async function orderAt(caller: Caller, address: Address): Promise<ReadonlyMap<string, number>> {
    const filter = { blocks: blockKeysContaining(address), assigned: false }
    const { rows, records } = await database.read(caller, async (handle) => {
      const listed = await store.listInstances(handle, filter, { limit: credentialLimits.ordered, offset: 0 })
      const ids = listed.rows.map(({ id }) => id)
      return { rows: listed.rows, records: await usesAtAddress(handle, ids, showAddress(address)) }
    })
    const uses = records.map(showAssociation)
    const isReadable = await readableUses(context, caller, uses)
    if (!uses.every(isReadable)) return new Map()
    const byId = new Map(records.map((record) => [record.instanceId, record]))
    return triedOrder(address, { candidates: rows.map(candidateOf), records: byId })
  }

  async function respond(caller: Caller, row: store.InstanceRow) {
    const [shown = row] = await withoutHiddenAssets(context, caller, [row])
    return answer(200, { data: showInstance(shown) }, { etag: etagOf(row.version) })
  }

  /**
   * Runs `work` with the locked instance and its changed values. Validation may wait for the worker process that
   * validates uploaded schemas, so it runs before the transaction. If the instance changed in the meantime, validation
   * runs again.
   */
  async function withCheckedValues<Result>(
    caller: Caller,
    { instanceId, ifMatch, change }: ValueChange,
    work: (tx: Transaction, before: store.SealedRow, changed: ChangedInstance) => Promise<Result>,
  ): Promise<Result> {
    const locked = async (tx: Transaction) => {
      const row = await lock(tx, instanceId)
      requireMatch(ifMatch, row.version)
      return row
    }
    if (change === undefined)
      return database.transaction(caller, async (tx) => {
        const row = await locked(tx)
        return work(tx, row, { row, fields: [] })
      })
    requireBounded(change)
    for (let attempt = 1; attempt <= updateAttempts; attempt++) {
      const { schema, known, version } = await database.transaction(caller, async (tx) => opened(tx, await locked(tx)))
      const after = await checks.accept(caller.tenantId, schema, mergedValues(known, change))
      const result = await database.transaction(caller, async (tx) => {
        const before = await locked(tx)
        if (before.version !== version) return undefined
        const sealed = await sealValues({ safe, tx }, bindingOf(before), after.values)
        const fields = changedFields(change, known, after)
        return { done: await work(tx, before, { row: { ...before, shown: after.shown, sealed }, fields }) }
      })
      if (result !== undefined) return result.done
    }
    throw new Problem('conflict', 'The credential instance was changed by other requests. Retry the request.')
  }

  /** Returns the decrypted values of an instance, together with its schema and its version. */
  async function opened(tx: Transaction, row: store.SealedRow) {
    const schema = await findSchema(tx, row.schemaId)
    if (schema === undefined) throw missingInstance(row.id)
    const values = JSON.parse(await openValues({ safe, tx }, bindingOf(row), row.sealed)) as StoredValues['values']
    return { schema, known: { values, shown: row.shown }, version: row.version }
  }
}

const updateAttempts = 4

type ValueChange = { instanceId: string; ifMatch: string | undefined; change: CredentialInstanceChange['values'] }
type ChangedInstance = { row: store.SealedRow; fields: string[] }

function bindingOf({ id, schemaId }: store.SealedRow) {
  return { instanceId: id, schemaId }
}

async function get(handle: Handle, id: string): Promise<store.InstanceRow> {
  const row = await store.findInstance(handle, id)
  if (row === undefined) throw missingInstance(id)
  return row
}

export async function lock(tx: Transaction, id: string): Promise<store.SealedRow> {
  const row = await store.lockInstance(tx, id)
  if (row === undefined) throw missingInstance(id)
  return row
}

function fieldsOf(before: store.InstanceRow, after: store.InstanceRow): string[] {
  return [
    ...(before.name === after.name ? [] : ['name']),
    ...(before.ipRanges.join() === after.ipRanges.join() ? [] : ['metadata/ipRanges']),
    ...(before.purpose === after.purpose ? [] : ['metadata/purpose']),
  ]
}

function addressOf(text: string): Address {
  const address = parseAddress(text)
  if (address === undefined) throw new Problem('invalid_range', 'address must be one IPv4 or IPv6 address')
  return address
}

/** Returns the usage of an instance. `others` are the uses of other instances that the refusing devices accept. */
async function usageOf(handle: Handle, id: string) {
  const most = credentialLimits.usageEntries
  return {
    templates: await templatesOf(handle, id, most),
    copies: await store.copiesOf(handle, id, most),
    associations: (await lastSuccesses(handle, id, most)).map(showAssociation),
    refusals: (await lastRefusals(handle, id, most)).map(showAssociation),
    others: (await acceptedOthers(handle, id, most)).map(({ assetId, ...use }) => ({
      ...use,
      ...(assetId === null ? {} : { assetId }),
    })),
    deliveries: (await lastDeliveries(handle, id, most)).map(
      ({ gatewayId, address, jobId, deliveries, deliveredAt }) => ({
        gatewayId,
        address,
        jobId,
        count: deliveries,
        lastTimestamp: deliveredAt,
      }),
    ),
  }
}

function placeOf({ gatewayId, address }: { gatewayId: string; address: string }): string {
  return `${gatewayId} ${address}`
}

export function showAssociation({ gatewayId, address, assetId, workedAt, failedAt }: UseRow) {
  return {
    gatewayId,
    address,
    ...(assetId === null ? {} : { assetId }),
    ...(workedAt === null ? {} : { lastWorkedTimestamp: workedAt }),
    ...(failedAt === null ? {} : { lastFailedTimestamp: failedAt }),
  }
}

function schemaMissing(id: string): Problem {
  const detail = `Credential schema ${id} does not exist`
  return fieldProblem('schema_not_found', '/data/schemaId', detail)
}
