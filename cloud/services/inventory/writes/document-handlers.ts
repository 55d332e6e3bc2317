import type { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Handlers } from '../../../platform/service.ts'
import { propertyText } from '../assets/property.ts'
import { findProperties } from '../assets/property-store.ts'
import type { InventoryContext } from '../context.ts'
import { connectionPerStatement, matching, putPayload, requireWritable } from './handlers.ts'
import { acceptedAnswer } from './status.ts'
import type { DocumentRest } from './write.ts'

type Names = 'putWholeAsset'

/** Handlers that write a complete v1 document. Either the whole document is written or nothing. */
export function documentWriteHandlers(own: InventoryContext): Pick<Handlers<typeof inventory>, Names> {
  const { database, acceptor } = own
  return {
    async putWholeAsset({ body: { data }, headers }, caller) {
      const { asset, assetId, states = {}, responsible, properties, partOf } = data
      // Validation may wait for the worker process that validates uploaded schemas, so no connection is held between
      // the statements.
      const handle = connectionPerStatement(database, caller)
      if (assetId !== undefined) await requireWritable(handle, caller, assetId)
      const values = await propertyValues(handle, properties)
      const put = await putPayload(own, handle, {
        caller,
        assets: [asset],
        meta: undefined,
        strict: assetId !== undefined,
        single: true,
      })
      const rest: DocumentRest = {
        states: Object.entries(states).map(([state, value]) => ({ state, value })) as DocumentRest['states'],
        ...(responsible === undefined ? {} : { responsible }),
        ...(values === undefined ? {} : { properties: values }),
        ...(partOf === undefined ? {} : { partOf: { assetId: partOf.asset, predicates: partOf.predicates } }),
      }
      const items = put.items.map((item) => ({ ...item, rest, ...(assetId === undefined ? {} : { assetId }) }))
      const payload = { ...put, ...matching(headers), items }
      const target = assetId === undefined ? {} : { target: `asset/${assetId}` }
      const id = await acceptor.accept(caller, {
        kind: 'put-whole',
        action: 'inventory.putWholeAsset',
        payload,
        ...target,
      })
      return acceptedAnswer(own, caller, { id, prefer: headers.prefer })
    },
  }
}

type PropertyInputs = readonly { key: string; value: string | number | boolean }[]

async function propertyValues(handle: Parameters<typeof findProperties>[0], inputs: PropertyInputs | undefined) {
  if (inputs === undefined) return undefined
  const keys = inputs.map(({ key }) => key)
  const definitions = await findProperties(handle, keys)
  return inputs.map(({ key, value }, index) => {
    const definition = definitions.get(key)
    const pointer = `/data/properties/${index}`
    if (definition !== undefined) return { key, value: propertyText(definition, value, `${pointer}/value`) }
    const [code, detail] = ['property_not_found', 'is not a custom property of this tenant'] as const
    throw new Problem(code, `${pointer}/key ${detail}`, { errors: [{ pointer: `${pointer}/key`, code, detail }] })
  })
}
