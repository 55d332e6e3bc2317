import { Problem } from '@millwright/api/problem.ts'
import {
  isSame,
  mergeAsset,
  removePropertyValue,
  setFirmware,
  setGatewayVersion,
  setPropertyValue,
  setState,
} from '../assets/asset.ts'
import { Precondition } from '../assets/asset-tag.ts'
import { isEdit, printSources, readSources, withEdits } from '../assets/field-sources.ts'
import type { Decision, WorkingAsset } from './change-set.ts'
import { acceptedItems, isRefused, refusedResult } from './item-result.ts'
import type { PatchItem, PatchPayload } from './write.ts'
import {
  applyItem,
  type KindRules,
  mayWrite,
  requireAsset,
  requireGroup,
  type Writing,
  writeDenied,
} from './writing.ts'

/** The rules of writes that change single fields of assets. */
export const patch: KindRules<PatchPayload> = {
  isAlone: false,

  needs({ items }) {
    const accepted = acceptedItems(items)
    return {
      keys: [],
      assetIds: accepted.map(({ assetId }) => assetId),
      accessGroupIds: accepted.flatMap((item) => newGroupOf(item) ?? []),
      allRelations: false,
    }
  },

  async apply(writing, { items, single, ifMatch }) {
    const results: unknown[] = []
    const precondition = new Precondition(ifMatch)
    for (const [index, item] of items.entries()) {
      await writing.yieldTurn()
      if (isRefused(item)) {
        results.push(refusedResult(item, writing.id))
        continue
      }
      const pointer = single ? '/data' : `/data/${index}`
      results.push(await applyItem(writing, () => patchAsset(writing, { item, precondition, pointer, single })))
    }
    return single ? results[0] : results
  },
}

/** `pointer` is the JSON pointer of the item in the request body. */
type PatchOptions = { item: PatchItem; precondition: Precondition; pointer: string; single: boolean }
type PatchResult = {
  assetId: string
  outcome: 'updated' | 'unchanged'
  /** The state and the access group before a decision about a new asset, to undo it. */
  previous?: { state: string; accessGroupId: string }
}

/** Returns the access group to which an item moves its asset. */
function newGroupOf(item: PatchItem): string | undefined {
  return item.change === 'access_group' || item.change === 'triage' ? item.accessGroupId : undefined
}

function placementOf({ document, accessGroupId }: WorkingAsset): { state: string; accessGroupId: string } {
  const { state_value: state } = (document.management_state ?? {}) as { state_value?: string }
  return { state: state ?? 'unknown', accessGroupId }
}

/** Refuses a decision about an asset that another request has decided about or moved since then. */
function requireUndecided(asset: WorkingAsset, item: Extract<PatchItem, { change: 'triage' }>): void {
  const { state, accessGroupId } = placementOf(asset)
  const { expectedStates, expectedAccessGroupId = accessGroupId } = item
  if (!expectedStates.includes(state))
    throw new Problem('conflict', `The management state of the asset is now ${state}, so it was not changed`)
  if (expectedAccessGroupId !== accessGroupId)
    throw new Problem('conflict', 'The asset was moved to another access group since then, so it was not changed')
}

async function patchAsset(
  writing: Writing,
  { item, precondition, pointer, single }: PatchOptions,
): Promise<Decision<PatchResult>> {
  const { rights, sender, tx, schemas } = writing
  const asset = await requireAsset(writing, item.assetId, single ? undefined : `${pointer}/asset_id`)
  precondition.require(asset)
  if (item.change === 'gateway_version' && asset.document.functional_object_type !== 'Gateway') {
    throw new Problem('not_found', `Gateway ${item.assetId} does not exist`)
  }
  if (item.change === 'triage') requireUndecided(asset, item)
  const newGroupId = newGroupOf(item)
  if (newGroupId !== undefined) requireGroup(writing, newGroupId)
  if (newGroupId !== undefined && !mayWrite(rights, newGroupId)) {
    throw await writeDenied(writing, newGroupId, `${pointer}/access_group`)
  }
  const now = new Date().toISOString()
  const document = patchedDocument(asset, item, now)
  const accessGroupId = newGroupId ?? asset.accessGroupId
  const result = { assetId: asset.id, ...(item.change === 'triage' ? { previous: placementOf(asset) } : {}) }
  if (accessGroupId === asset.accessGroupId && isSame(asset.document, document))
    return { result: { ...result, outcome: 'unchanged' }, changes: [] }
  const faults = await schemas.faultsOf(tx, document)
  if (faults.length > 0)
    throw new Problem('invalid_asset', 'The resulting asset does not match its schema', { errors: faults })
  const next = {
    ...asset,
    accessGroupId,
    version: asset.version + 1,
    document: { ...document, last_modified_timestamp: now },
    sources: sourcesAfterEdit(asset, document, now),
  }
  const cause = { actor: sender, source: { type: 'manual' }, time: now }
  return { result: { ...result, outcome: 'updated' }, changes: [{ type: 'put asset', asset: next, cause }] }
}

/** Returns the reports after a patch. An edited name or description wins over scans. */
function sourcesAfterEdit({ document: before, sources }: WorkingAsset, after: Record<string, unknown>, time: string) {
  if (!isEdit(before, after)) return sources
  return printSources(withEdits(readSources(sources), { before, after, time }))
}

function patchedDocument({ document }: WorkingAsset, item: PatchItem, now: string): Record<string, unknown> {
  switch (item.change) {
    case 'management_state':
    case 'reachability_state':
    case 'trust_state':
      return setState(document, { state: item.change, value: item.value, now: item.time ?? now })
    case 'triage':
      return setState(document, { state: 'management_state', value: item.value, now })
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
