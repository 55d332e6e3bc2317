import { createdDocument, mergeAsset, setState, stateValueOf } from '../assets/asset.ts'
import {
  isEdit,
  mergeFinding,
  type OverruledField,
  printSources,
  readSources,
  withEdits,
  withoutEdits,
} from '../assets/field-sources.ts'
import type { WorkingAsset } from './change-set.ts'
import { withRest } from './document-write.ts'
import { isOfGateway } from './gateway-scope.ts'
import type { PutItem, PutPayload } from './write.ts'
import type { Writing } from './writing.ts'

type WriteInput = { item: PutItem; payload: PutPayload; existing: WorkingAsset | undefined; now: string }

/** The document and the reports of links after a write, and the reported values that are not used. */
type Content = {
  content: Record<string, unknown>
  sources: string | null
  overruled?: { overruled: readonly OverruledField[] }
}

/** Returns the content of the asset after the write. A device that a scan found is merged with the reports of other links. */
export function contentAfter(writing: Writing, input: WriteInput): Content {
  const { item, payload, existing, now } = input
  if (isFinding(writing, payload)) return contentAfterFinding(writing, input)
  const { type } = payload.source
  const own =
    existing === undefined
      ? createdDocument(item.asset, { responsible: writing.sender.principalName, now })
      : mergeAsset(existing.document, type === 'manual' ? item.asset : fieldsOfScan(item.asset, existing))
  const written = item.rest === undefined ? own : withRest(own, item.rest, now)
  return {
    content: type === 'discovery' ? withReachedState(written, now) : written,
    sources: type === 'manual' ? sourcesAfterEdit(existing, written, now) : (existing?.sources ?? null),
  }
}

/** Returns the fields of a device that a program found without a gateway. An edited name or description stays. */
function fieldsOfScan(asset: Record<string, unknown>, { sources }: WorkingAsset): Record<string, unknown> {
  return sources === null ? asset : withoutEdits(asset, readSources(sources))
}

/**
 * Returns the reports after a client wrote an asset. If no link has reported the asset, nothing is stored, so that writes of
 * many assets stay cheap.
 */
function sourcesAfterEdit(existing: WorkingAsset | undefined, after: Record<string, unknown>, time: string) {
  if (existing === undefined || existing.sources === null) return null
  const { document: before, sources } = existing
  return isEdit(before, after) ? printSources(withEdits(readSources(sources), { before, after, time })) : sources
}

/** Returns whether a gateway reports a device that one of its links found. */
function isFinding({ sender }: Writing, { source }: PutPayload): boolean {
  return isOfGateway(sender) && source.type === 'discovery'
}

function contentAfterFinding(writing: Writing, { item, payload, existing, now }: WriteInput): Content {
  const { principalId, principalName } = writing.sender
  const before = readSources(existing?.sources ?? null)
  const finding = { source: payload.source.value ?? '', reporter: principalId, asset: item.asset, time: now }
  const { fields, sources, overruled } = mergeFinding({ document: existing?.document ?? {}, sources: before }, finding)
  const document =
    existing === undefined
      ? createdDocument(item.asset, { responsible: principalName, now })
      : mergeAsset(existing.document, fields)
  return {
    content: withReachedState(document, now),
    sources: sources === before ? (existing?.sources ?? null) : printSources(sources),
    ...(overruled.length === 0 ? {} : { overruled: { overruled } }),
  }
}

/** Sets the reachability state of a discovered asset to reached. */
function withReachedState(document: Record<string, unknown>, now: string) {
  if (stateValueOf(document, 'reachability_state') === 'reached') return document
  return setState(document, { state: 'reachability_state', value: 'reached', now })
}
