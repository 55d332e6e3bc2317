import type {
  CredentialInstance,
  CredentialInstanceVersion,
  ListedCredentialInstance,
} from '@millwright/api/credentials-shapes.ts'
import { credentialLimits } from '@millwright/api/credentials-shapes.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { InstanceRow, VersionRow } from './instance-store.ts'
import { type Range, showRange } from './ip-range.ts'
import type { LoginRow } from './use-store.ts'

export function showInstance(row: InstanceRow): CredentialInstance {
  return {
    id: row.id,
    schemaId: row.schemaId,
    schemaUri: row.schemaUri,
    resourceIdentifier: row.resourceIdentifier,
    resourceVersion: row.resourceVersion,
    name: row.name,
    values: { ...row.shown },
    metadata: { ipRanges: row.ipRanges, ...(row.purpose === null ? {} : { purpose: row.purpose }) },
    ...(row.assetId === null ? {} : { assetId: row.assetId }),
    ...(row.copiedFrom === null ? {} : { copiedFrom: row.copiedFrom }),
    version: row.version,
    createdBy: row.createdBy,
    createdTimestamp: row.createdAt,
    lastModifiedBy: row.modifiedBy,
    lastModifiedTimestamp: row.modifiedAt,
  }
}

/** What lists show about an instance in addition to its fields. */
type ListedFacts = {
  logins: LoginRow | undefined
  order: number | undefined
  /** What a scan tries before this instance, by address. */
  places: readonly { ranges: readonly Range[]; after: readonly { row: Pick<InstanceRow, 'id' | 'name'> }[] }[]
}

/** Returns an instance as lists show it. An instance that no gateway has received has no results. */
export function showListedInstance(row: InstanceRow, { logins, order, places }: ListedFacts): ListedCredentialInstance {
  const { accepted = 0, refused = 0, refusedWithOther = 0, workedAt = null, failedAt = null } = logins ?? {}
  return {
    ...showInstance(row),
    ...(row.schemaTitle === null ? {} : { schemaTitle: row.schemaTitle }),
    logins: {
      accepted,
      refused,
      refusedWithOther,
      ...(workedAt === null ? {} : { lastWorkedTimestamp: workedAt }),
      ...(failedAt === null ? {} : { lastFailedTimestamp: failedAt }),
    },
    ...(order === undefined ? {} : { order }),
    places: places.slice(0, credentialLimits.places).map(({ ranges, after }) => ({
      ...(after.length < credentialLimits.selected && { place: after.length + 1 }),
      ipRanges: ranges.slice(0, credentialLimits.places).map(showRange),
      after: after.map(({ row: { id, name } }) => ({ id, name })),
    })),
  }
}

export function showVersion({ version, change, fields, changedBy, changedAt }: VersionRow): CredentialInstanceVersion {
  return { version, change, fields, changedBy, timestamp: changedAt }
}

export function locationOf(id: string): string {
  return `/credentials/v2/instances/${id}`
}

export function missingInstance(id: string): Problem {
  return new Problem('not_found', `Credential instance ${id} does not exist`)
}
