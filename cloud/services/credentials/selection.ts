import { type CredentialPurpose, credentialLimits } from '@millwright/api/credentials-shapes.ts'
import { type Address, holds, type Range } from './ip-range.ts'

/** An instance as far as the choice depends on it. Times are ISO texts, which compare as they are. */
export type Candidate = {
  id: string
  ranges: readonly Range[]
  purpose: CredentialPurpose | null
  /** Of a copy: the asset that it belongs to. */
  assetId: string | null
  product: { identifier: string; version: string }
  modifiedAt: string
}

/** A candidate that belongs to the device: it opened it before, or a copy of it is assigned to the asset. */
export type Associated = Candidate & { workedAt: string | null; failedAt: string | null }

export type Found = { address: Address; product: { identifier: string; version: string } }

export type Selection<Chosen> = { known: boolean; chosen: Chosen[] }

/**
 * A device that is known keeps what is associated with it, what opened it last first. When all of that has failed since,
 * what opened it last is tried once more, and after it, as for a new device, the most recent that apply to its address.
 */
export function select<A extends Associated, C extends Candidate>(
  found: Found,
  { associated, recent }: { associated: readonly A[]; recent: readonly C[] },
): Selection<A | C> {
  const known = associated.filter((one) => applies(one, found)).toSorted(byLastSuccess)
  const sound = known.filter((one) => !hasFailed(one))
  if (sound.length > 0) return { known: true, chosen: sound.slice(0, credentialLimits.selected) }
  const [best] = known
  const others = mostRecent(found, recent).filter(({ id }) => id !== best?.id)
  const chosen = [...(best === undefined ? [] : [best]), ...others].slice(0, credentialLimits.selected)
  return { known: best !== undefined, chosen }
}

/** Those for any asset, of the same version of the link first, the most recently changed first among them. */
export function mostRecent<C extends Candidate>(found: Found, candidates: readonly C[]): C[] {
  return candidates
    .filter((one) => one.assetId === null && applies(one, found))
    .toSorted(
      (a, b) =>
        Number(isSameVersion(b, found)) - Number(isSameVersion(a, found)) ||
        compare(b.modifiedAt, a.modifiedAt) ||
        compare(b.id, a.id),
    )
    .slice(0, credentialLimits.selected)
}

/** A secret is never sent outside its range, to another product, or in a scan when it is for monitoring alone. */
export function applies(one: Candidate, { address, product }: Found): boolean {
  return (
    one.purpose !== 'monitoring' &&
    one.product.identifier === product.identifier &&
    one.ranges.some((range) => holds(range, address))
  )
}

/** It failed, and neither opened the device nor was changed since. */
function hasFailed({ workedAt, failedAt, modifiedAt }: Associated): boolean {
  return failedAt !== null && failedAt > (workedAt ?? '') && failedAt > modifiedAt
}

/** Of the same success, and of none, the most recently changed comes first. */
function byLastSuccess(a: Associated, b: Associated): number {
  return compare(b.workedAt ?? '', a.workedAt ?? '') || compare(b.modifiedAt, a.modifiedAt) || compare(b.id, a.id)
}

function isSameVersion({ product }: Candidate, found: Found): boolean {
  return product.version === found.product.version
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
