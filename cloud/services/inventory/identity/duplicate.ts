import type { Duplicate } from '@millwright/api/inventory/identity.ts'
import type { StoredIdentifier, WriteSource } from '../writes/write.ts'
import type { DuplicateRow, Evidence, Pair, Suspicion } from './duplicate-store.ts'
import type { Identity } from './identifier.ts'

/** Returns the pair of two assets. The order of the arguments does not matter. */
export function pairOf(one: string, other: string): Pair {
  return one < other ? { assetId: one, otherId: other } : { assetId: other, otherId: one }
}

type Write = { identifiers: readonly StoredIdentifier[]; source: WriteSource; time: string }

/**
 * Returns the suspected duplicates after a write. It pairs the written asset with each asset that owns some of the sent
 * identifiers.
 */
export function suspicionsOf({ match, matchedBy, conflicts }: Identity, write: Write): Suspicion[] {
  if (match === undefined) return []
  return conflicts.map(({ assetId, by }) => ({
    ...pairOf(match, assetId),
    evidence: evidenceOf(write, [
      [match, matchedBy],
      [assetId, by],
    ]),
    time: write.time,
  }))
}

function evidenceOf({ identifiers, source }: Write, owners: readonly [string, readonly string[]][]): Evidence {
  const byKey = new Map(identifiers.map(({ key, identifier }) => [key, identifier]))
  return {
    identifiers: owners.flatMap(([assetId, keys]) =>
      keys.map((key) => ({ assetId, identifier: byKey.get(key) ?? {} })),
    ),
    source,
  }
}

export function showDuplicate(row: DuplicateRow): Duplicate {
  const { type, value } = row.evidence.source
  return {
    asset: { id: row.assetId, name: row.assetName },
    other: { id: row.otherId, name: row.otherName },
    evidence: { identifiers: row.evidence.identifiers, source: { type, ...(value === undefined ? {} : { value }) } },
    firstSeenTimestamp: row.firstSeen,
    lastSeenTimestamp: row.lastSeen,
    dismissedTimestamp: row.dismissedAt,
  }
}
