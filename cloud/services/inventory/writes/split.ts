import { type FieldError, Problem } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { createdDocument, writeShape } from '../assets/asset.ts'
import { Precondition } from '../assets/asset-tag.ts'
import { printSources, withEdits } from '../assets/field-sources.ts'
import { identifiersWithKeys } from '../identity/merge-store.ts'
import type { Change, Decision, WorkingAsset } from './change-set.ts'
import { aloneNeeds, applied, causeOf, nextVersion, noIdentifierLeft, requireWritable } from './merge.ts'
import type { SplitPayload } from './write.ts'
import type { KindRules, Writing } from './writing.ts'

/**
 * Moves some identifiers to a new asset of the same type and in the same access group. Relations stay on the old asset.
 */
export const split: KindRules<SplitPayload> = {
  isAlone: true,
  needs: ({ assetId }) => aloneNeeds(assetId),
  apply: async (writing, payload) => applied(writing, await splitAsset(writing, payload)),
}

async function splitAsset(writing: Writing, payload: SplitPayload): Promise<Decision<object>> {
  const { tx, sender } = writing
  const asset = requireWritable(writing, payload.assetId)
  new Precondition(payload.ifMatch).require(asset)
  const own = await identifiersWithKeys(tx, asset.id)
  const leaving = own.filter(({ key }) => payload.keys.includes(key))
  requireOwn(payload.keys, leaving)
  if (leaving.length === own.length) throw noIdentifierLeft()
  const time = new Date().toISOString()
  const id = v7()
  const document = await newDocument(writing, { asset, name: payload.name, time })
  // The reports stay on the old asset. A copied name is not the edit of a person, so the next scan can replace it.
  const edit = { before: {}, after: { name: payload.name }, time }
  const sources = payload.name === undefined ? null : printSources(withEdits({}, edit))
  const created = { id, accessGroupId: asset.accessGroupId, version: 1, createdAt: time, document, sources }
  const cause = (value: string) => causeOf(sender, { time, type: 'split', value })
  return {
    result: { assetId: asset.id, outcome: 'split', createdAssetId: id, identifiers: leaving.length },
    changes: [
      { type: 'put asset', asset: nextVersion(asset, asset.document, time), cause: cause(id) },
      { type: 'put asset', asset: created, cause: cause(asset.id) },
      ...leaving.map((identifier): Change => ({ type: 'move identifier', ...identifier, to: id })),
    ],
  }
}

type NewDocument = { asset: WorkingAsset; name: string | undefined; time: string }

/**
 * Returns the document of the new asset: type, schema and name. It is not known which other fields belong to the new
 * asset, so they are copied only if the schema refuses a document without them.
 */
async function newDocument({ schemas, tx, sender }: Writing, { asset, name, time }: NewDocument) {
  const copy = writeShape(asset.document)
  const { functional_object_type, functional_object_schema_url } = copy
  const named = { name: name ?? copy.name }
  const creation = { responsible: sender.principalName, now: time }
  const bare = createdDocument({ functional_object_type, functional_object_schema_url, ...named }, creation)
  const faults = await schemas.faultsOf(tx, bare)
  return faults.length === 0 ? bare : createdDocument({ ...copy, ...named }, creation)
}

function requireOwn(keys: readonly string[], own: readonly { key: string }[]): void {
  const ownKeys = new Set(own.map(({ key }) => key))
  const errors = keys.flatMap((key, index): FieldError[] =>
    ownKeys.has(key)
      ? []
      : [{ pointer: `/data/identifiers/${index}`, code: 'conflict', detail: 'is not an identifier of this asset' }],
  )
  if (errors[0] !== undefined) throw new Problem('conflict', `${errors[0].pointer} ${errors[0].detail}`, { errors })
}
