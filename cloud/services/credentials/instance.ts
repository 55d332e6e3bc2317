import type { CredentialInstance, CredentialInstanceVersion } from '@millwright/api/credentials-shapes.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { InstanceRow, VersionRow } from './instance-store.ts'

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

export function showVersion({ version, change, fields, changedBy, changedAt }: VersionRow): CredentialInstanceVersion {
  return { version, change, fields, changedBy, timestamp: changedAt }
}

export function locationOf(id: string): string {
  return `/credentials/v2/instances/${id}`
}

export function missingInstance(id: string): Problem {
  return new Problem('not_found', `Credential instance ${id} does not exist`)
}
