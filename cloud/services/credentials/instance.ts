import type {
  CredentialInstance,
  CredentialInstanceVersion,
  ListedCredentialInstance,
} from '@millwright/api/credentials-shapes.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { InstanceRow, VersionRow } from './instance-store.ts'
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
}

/** Returns an instance as lists show it. An instance that no gateway has received has no results. */
export function showListedInstance(row: InstanceRow, { logins, order }: ListedFacts): ListedCredentialInstance {
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
