import { confidenceOf, type DuplicateReason, type Origin } from '@millwright/api/inventory/triage.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { readableGroups } from '../visibility.ts'
import { withoutHiddenAuthors } from '../visibility-store.ts'
import {
  type DuplicateCandidate,
  type Finder,
  findFirstChange,
  findOrigin,
  listCandidates,
  listFinders,
  listIdentifiers,
} from './origin-store.ts'

/** Returns how an asset came into the inventory, or undefined if the caller cannot read it. */
export async function originOf(handle: Handle, caller: Caller, id: string): Promise<Origin | undefined> {
  const groups = readableGroups(caller)
  const row = await findOrigin(handle, { id, groups })
  if (row === undefined) return undefined
  const first = await findFirstChange(handle, { id, groups })
  const [source] = await withoutHiddenAuthors(handle, first === undefined ? [] : [first], groups)
  const finders = await listFinders(handle, { id, groups })
  const identifiers = await listIdentifiers(handle, id)
  const duplicate = mostLikely(await listCandidates(handle, { id, groups }))
  return {
    name: row.name,
    accessGroup: row.accessGroup,
    managementState: row.managementState,
    createdTimestamp: row.createdAt,
    ...(source === undefined
      ? {}
      : {
          source: {
            type: source.sourceType,
            ...(source.sourceValue === null ? {} : { value: source.sourceValue }),
            principalName: source.principalName,
          },
        }),
    ...(row.runId === null ? {} : { runId: row.runId }),
    ...finderOf('gateway', 'found_by_gateway', finders),
    ...finderOf('assetLink', 'found_by_asset_link', finders),
    confidence: confidenceOf(Math.min(...identifiers.map(({ uncertainty }) => uncertainty))),
    identifiers: identifiers.map(({ identifier, uncertainty }) => ({
      identifier,
      confidence: confidenceOf(uncertainty),
    })),
    ...(duplicate === undefined ? {} : { possibleDuplicate: duplicate }),
  }
}

function finderOf(field: 'gateway' | 'assetLink', predicate: string, finders: readonly Finder[]) {
  const finder = finders.find((one) => one.predicate === predicate)
  return finder === undefined ? {} : { [field]: { id: finder.id, name: finder.name } }
}

/** How strong each reason is. The reasons of one candidate are added. */
const weights: Readonly<Record<DuplicateReason, number>> = {
  reported_together: 100,
  mac: 80,
  identifier: 70,
  serial_number: 60,
  name: 30,
  ipv4: 25,
  ipv6: 25,
}

/** Returns the candidate with the strongest reasons. An asset that is onboarded wins over a new one with equal reasons. */
export function mostLikely(candidates: readonly DuplicateCandidate[]): Origin['possibleDuplicate'] {
  const byId = Map.groupBy(candidates, ({ id }) => id)
  const scored = [...byId.values()].flatMap((rows) => {
    const [row] = rows
    if (row === undefined) return []
    const kinds = Map.groupBy(rows, ({ reason }) => reason)
    const score = [...kinds.keys()].reduce((sum, kind) => sum + weights[kind], 0)
    const reasons = [...kinds]
      .toSorted(([one], [other]) => weights[other] - weights[one])
      .map(([kind, [first]]) => ({ kind, value: first?.value ?? '' }))
    const { id, name, managementState, accessGroup } = row
    const isOnboarded = managementState === 'regarded'
    return [{ score, isOnboarded, duplicate: { id, name, managementState, accessGroup, reasons } }]
  })
  const [best] = scored.toSorted(
    (one, other) =>
      other.score - one.score ||
      Number(other.isOnboarded) - Number(one.isOnboarded) ||
      (one.duplicate.id < other.duplicate.id ? -1 : 1),
  )
  return best?.duplicate
}
