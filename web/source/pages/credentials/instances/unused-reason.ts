import type { ListedCredentialInstance } from '@millwright/api/credentials-shapes.ts'
import type { Discovery } from '@millwright/api/discovery.ts'

type Scan = Pick<Discovery, 'deviceClass' | 'startedTimestamp'>

/**
 * Returns why no device has received credentials: scans do not use them, no scan with their asset link has run at all, or none
 * since the credentials were added. Returns undefined if the platform does not know the reason. `scans` are the scans with their
 * latest run, or undefined if not all of them are known.
 */
export function unusedReason(
  { resourceIdentifier, createdTimestamp, assetId, metadata }: ListedCredentialInstance,
  scans: readonly Scan[] | undefined,
): 'onlyMonitoring' | 'noScan' | 'noScanSince' | undefined {
  if (assetId !== undefined) return undefined
  if (metadata.purpose === 'monitoring') return 'onlyMonitoring'
  if (scans === undefined) return undefined
  const started = scans
    .filter(({ deviceClass }) => deviceClass === resourceIdentifier)
    .flatMap(({ startedTimestamp }) => startedTimestamp ?? [])
  if (started.length === 0) return 'noScan'
  return started.every((at) => at < createdTimestamp) ? 'noScanSince' : undefined
}
