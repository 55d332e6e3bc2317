import { Problem } from '@millwright/api/problem.ts'
import { type ApplierParts, type Applying, mayWrite, requireAsset, requireGroup, writeDenied } from './applying.ts'
import {
  isSame,
  mergeAsset,
  removePropertyValue,
  setFirmware,
  setGatewayVersion,
  setPropertyValue,
  setState,
} from './asset.ts'
import { Precondition } from './asset-tag.ts'
import type { QueuedOperation } from './operation-store.ts'
import type { PatchItem, PatchPayload } from './payload.ts'
import { isRefused, refusalOf, refusedResult } from './refused-item.ts'
import type { WorkingAsset } from './workspace.ts'

type PatchOperation = QueuedOperation & { payload: PatchPayload }

export function isPatch(operation: QueuedOperation): operation is PatchOperation {
  return operation.kind === 'patch'
}

export async function applyPatch(
  parts: ApplierParts,
  applying: Applying,
  { payload }: PatchOperation,
): Promise<unknown> {
  const results: unknown[] = []
  const precondition = new Precondition(payload.ifMatch)
  for (const [index, item] of payload.items.entries()) {
    await applying.yieldTurn()
    if (isRefused(item)) {
      results.push(refusedResult(item, applying.operation.id))
      continue
    }
    const pointer = payload.single ? {} : { pointer: `/data/${index}/asset_id` }
    try {
      results.push(await patchOne(parts, applying, { item, precondition, ...pointer }))
    } catch (error) {
      results.push(refusalOf(error).toDocument({ traceId: applying.operation.id }))
    }
  }
  return payload.single ? results[0] : results
}

type One = { item: PatchItem; precondition: Precondition; pointer?: string }

async function patchOne(parts: ApplierParts, applying: Applying, { item, precondition, pointer }: One) {
  const { workspace, rights, operation, tx } = applying
  const asset = await requireAsset(applying, item.assetId, pointer)
  precondition.require(asset)
  if (item.change === 'gateway_version' && asset.document.functional_object_type !== 'Gateway') {
    throw new Problem('not_found', `There is no gateway ${item.assetId}`)
  }
  if (item.change === 'access_group') requireGroup(applying, item.accessGroupId)
  if (item.change === 'access_group' && !mayWrite(rights, item.accessGroupId)) {
    throw await writeDenied(applying, item.accessGroupId)
  }
  const now = new Date().toISOString()
  const document = changed(asset, item, now)
  const accessGroupId = item.change === 'access_group' ? item.accessGroupId : asset.accessGroupId
  if (accessGroupId === asset.accessGroupId && isSame(asset.document, document))
    return { assetId: asset.id, outcome: 'unchanged' }
  const faults = await parts.schemas.faultsOf(tx, document)
  if (faults.length > 0)
    throw new Problem('invalid_asset', 'The resulting asset does not fit its schema', { errors: faults })
  const next = {
    ...asset,
    accessGroupId,
    version: asset.version + 1,
    document: { ...document, last_modified_timestamp: now },
  }
  workspace.put(next, { actor: operation, source: { type: 'manual' }, time: now })
  return { assetId: asset.id, outcome: 'updated' }
}

function changed({ document }: WorkingAsset, item: PatchItem, now: string): Record<string, unknown> {
  switch (item.change) {
    case 'management_state':
    case 'reachability_state':
    case 'trust_state':
      return setState(document, { state: item.change, value: item.value, now })
    case 'firmware':
      return setFirmware(document, { version: item.version, ...(item.name === undefined ? {} : { name: item.name }) })
    case 'gateway_version':
      return setGatewayVersion(document, item.version)
    case 'responsible':
      return { ...document, responsible: item.responsible }
    case 'name':
      return mergeAsset(document, { name: item.name })
    case 'description':
      return mergeAsset(document, { description: item.description })
    case 'property':
      return setPropertyValue(document, { key: item.key, value: item.value })
    case 'no_property':
      return removePropertyValue(document, item.key)
    case 'access_group':
      return document
  }
}
