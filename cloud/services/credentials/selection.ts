import { type CredentialPurpose, credentialLimits } from '@millwright/api/credentials-shapes.ts'
import { type Address, type Range, rangeContains } from './ip-range.ts'

/** The fields of an instance that the selection reads. Times are ISO texts, which can be compared as text. */
export type Candidate = {
  id: string
  ranges: readonly Range[]
  purpose: CredentialPurpose | null
  /** The asset to which a copy is assigned. It is null for an instance that is not assigned. */
  assetId: string | null
  product: { identifier: string; version: string }
  modifiedAt: string
}

/**
 * A candidate that is associated with the device: a login to the device with it succeeded before, or it is a copy that
 * is assigned to the asset of the device.
 */
export type AssociatedCandidate = Candidate & { workedAt: string | null; failedAt: string | null }

export type ScanTarget = { address: Address; product: { identifier: string; version: string } }

type ProductTarget = Pick<ScanTarget, 'product'>

export type Selection<Chosen> = { known: boolean; chosen: Chosen[] }

/**
 * Selects the instances for a device, in order of preference. If associated instances work, the device gets only these,
 * most recent success first. Otherwise it gets the associated instance with the most recent success, if there is one,
 * and then the most recently changed instances that apply to its address.
 */
export function select<A extends AssociatedCandidate, C extends Candidate>(
  target: ScanTarget,
  { associated, recent }: { associated: readonly A[]; recent: readonly C[] },
): Selection<A | C> {
  const applicable = associated.filter((one) => applies(one, target)).toSorted(byLastSuccess)
  const working = applicable.filter((one) => !hasFailed(one))
  if (working.length > 0) return { known: true, chosen: working.slice(0, credentialLimits.selected) }
  const [best] = applicable
  const others = mostRecent(target, recent).filter(({ id }) => id !== best?.id)
  const chosen = [...(best === undefined ? [] : [best]), ...others].slice(0, credentialLimits.selected)
  return { known: best !== undefined, chosen }
}

/**
 * Returns the instances that apply to the target and are not assigned to an asset. Instances for the same link version
 * come first. Among these and among the rest, the most recently changed instance comes first.
 */
export function mostRecent<C extends Candidate>(target: ScanTarget, candidates: readonly C[]): C[] {
  return candidates
    .filter((one) => one.assetId === null && applies(one, target))
    .toSorted(byPreference(target))
    .slice(0, credentialLimits.selected)
}

/** Compares two candidates: those for the version of the target come first, then the most recently changed ones. */
function byPreference(target: ProductTarget): (a: Candidate, b: Candidate) => number {
  return (a, b) =>
    Number(isSameVersion(b, target)) - Number(isSameVersion(a, target)) ||
    compare(b.modifiedAt, a.modifiedAt) ||
    compare(b.id, a.id)
}

/**
 * Returns whether an instance may be delivered for a target. The address of the target must be in a range of the
 * instance, the products must match, and the instance must not be for monitoring only.
 */
export function applies(one: Candidate, { address, product }: ScanTarget): boolean {
  return (
    one.purpose !== 'monitoring' &&
    one.product.identifier === product.identifier &&
    one.ranges.some((range) => rangeContains(range, address))
  )
}

type Record = { workedAt: string | null; failedAt: string | null }

/**
 * Selects the instances of a template for the monitoring of a device, in order of preference: the instances that worked at its
 * address, most recent success first, then the most recently changed ones. The address must be in a range of the instance, and
 * the product must match. `failed` contains the recent failures at the address: an instance whose last attempt is among them is
 * selected again only after it has changed.
 */
export function selectOfTemplate<C extends Candidate>(
  { address, product }: ScanTarget,
  {
    candidates,
    worked,
    failed,
  }: { candidates: readonly C[]; worked: ReadonlyMap<string, Record>; failed: ReadonlyMap<string, Record> },
): Selection<C> {
  const isRejected = (one: C) => {
    const record = failed.get(one.id)
    return record !== undefined && hasFailed({ ...one, ...record })
  }
  const applicable = candidates.filter(
    (one) =>
      one.assetId === null &&
      !isRejected(one) &&
      one.purpose !== 'discovery' &&
      one.product.identifier === product.identifier &&
      one.ranges.some((range) => rangeContains(range, address)),
  )
  const workedAt = ({ id }: C) => worked.get(id)?.workedAt ?? ''
  const chosen = applicable
    .toSorted(
      (a, b) =>
        compare(workedAt(b), workedAt(a)) ||
        Number(isSameVersion(b, { product })) - Number(isSameVersion(a, { product })) ||
        compare(b.modifiedAt, a.modifiedAt) ||
        compare(b.id, a.id),
    )
    .slice(0, credentialLimits.selected)
  return { known: chosen.some((one) => workedAt(one) !== ''), chosen }
}

/**
 * Returns the place of each instance among the instances of its product that a scan tries at an address, by instance id. The
 * version of the asset link is not known here. It is assumed to be that of the most recently changed instance. `records` are the
 * uses at the address. Instances that are assigned to an asset are left out, because they are used only for this asset.
 */
export function triedOrder<C extends Candidate>(
  address: Address,
  { candidates, records }: { candidates: readonly C[]; records: ReadonlyMap<string, Record> },
): Map<string, number> {
  const order = new Map<string, number>()
  const unassigned = candidates.filter(({ assetId }) => assetId === null)
  for (const [identifier, recent] of Map.groupBy(unassigned, ({ product }) => product.identifier)) {
    const product = { identifier, version: latestVersion(recent) }
    const associated = recent.flatMap((one) => {
      const record = records.get(one.id)
      return record === undefined || record.workedAt === null ? [] : [{ ...one, ...record }]
    })
    const target = { address, product }
    for (const [place, { id }] of select(target, { associated, recent }).chosen.entries()) order.set(id, place + 1)
  }
  return order
}

/** Returns the version of the most recently changed candidate. */
function latestVersion(candidates: readonly Candidate[]): string {
  const [latest] = candidates.toSorted((a, b) => compare(b.modifiedAt, a.modifiedAt))
  return latest?.product.version ?? ''
}

/** Returns whether the last attempt failed and the instance has not changed since then. */
function hasFailed({ workedAt, failedAt, modifiedAt }: AssociatedCandidate): boolean {
  return failedAt !== null && failedAt > (workedAt ?? '') && failedAt > modifiedAt
}

/** Compares two candidates by their last success, then by their last change. */
function byLastSuccess(a: AssociatedCandidate, b: AssociatedCandidate): number {
  return compare(b.workedAt ?? '', a.workedAt ?? '') || compare(b.modifiedAt, a.modifiedAt) || compare(b.id, a.id)
}

function isSameVersion({ product }: Candidate, target: ProductTarget): boolean {
  return product.version === target.product.version
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
