import { createHash } from 'node:crypto'
import { firmwareVersionOf } from '@millwright/api/asset-firmware.ts'
import { canonicalJson } from '@millwright/api/canonical-json.ts'
import {
  type MonitoredDevice,
  type MonitoredValue,
  monitoringLimits,
  type ReportError,
} from '@millwright/api/monitoring.ts'
import type { ResultRow } from './result-store.ts'

/** Pure functions that compute the next row of a monitored asset from the report of a gateway. */

/**
 * What a check of an asset found out. `instanceId` is the credential instance that worked. `error` is the reason why the inventory
 * refused the report.
 */
export type Check = Pick<MonitoredDevice, 'state' | 'message' | 'assetLinkId' | 'asset' | 'values'> & {
  gatewayId: string | null
  instanceId: string | null
  error?: ReportError
}

/**
 * Returns the row after a check. If the device was not reached and another gateway can read it, the row stays pending for that
 * gateway. The state is `failed` only if every gateway reported that the device did not respond.
 */
export function rowAfter(row: ResultRow, check: Check, now: string): ResultRow {
  const [route, next, ...others] = row.routes
  const isUncertain = route?.isUncertain === true || check.state === 'unknown'
  if (check.state !== 'reached' && next !== undefined) {
    const routes = [{ ...next, ...(isUncertain ? { isUncertain } : {}) }, ...others]
    return { ...row, routes, gatewayId: next.gatewayId }
  }
  const state = check.state === 'failed' && isUncertain ? 'unknown' : check.state
  const isFirst = row.checkedAt === null
  const firmwareVersion = check.asset === undefined ? row.firmwareVersion : firmwareVersionOf(check.asset)
  const values = valuesAfter(row.values, check.values ?? [], now)
  const isChanged =
    !isFirst &&
    (state !== row.state ||
      firmwareVersion !== row.firmwareVersion ||
      values.some(({ changedTimestamp }) => changedTimestamp === now))
  return {
    ...row,
    isPending: false,
    routes: [],
    state,
    sinceAt: state === row.state && !isFirst ? row.sinceAt : now,
    checkedAt: now,
    isChanged,
    message: check.message ?? null,
    firmwareVersion,
    values,
    checkedGatewayId: check.gatewayId,
    assetLinkId: check.assetLinkId ?? null,
    instanceId: check.instanceId,
    reportError: check.error ?? null,
  }
}

/**
 * Returns the values after a check. A property that could not be read keeps its last value. The time of the change stays if the
 * value is the same.
 */
function valuesAfter(
  before: readonly MonitoredValue[],
  read: NonNullable<Check['values']>,
  now: string,
): MonitoredValue[] {
  if (read.length === 0) return [...before]
  const known = new Map(before.map((one) => [one.key, one]))
  return read.map(({ key, value, problem }): MonitoredValue => {
    const last = known.get(key)
    if (value === undefined) {
      const { value: lastValue, changedTimestamp } = last ?? {}
      return {
        key,
        ...(lastValue === undefined ? {} : { value: lastValue }),
        ...(problem === undefined ? {} : { problem }),
        ...(changedTimestamp === undefined ? {} : { changedTimestamp }),
      }
    }
    const isSame = last?.value !== undefined && canonicalJson(last.value) === canonicalJson(value)
    return { key, value, changedTimestamp: (isSame ? last.changedTimestamp : undefined) ?? now }
  })
}

/** Returns the time up to which the result of a check counts, if no later check follows. */
export function endOfResult(checkedAt: string): string {
  return new Date(Date.parse(checkedAt) + monitoringLimits.resultHours * 3_600_000).toISOString()
}

/** Returns a text that identifies the report of a device through a link. */
export function digestOf({ assetLinkId, asset }: Pick<Check, 'assetLinkId' | 'asset'>): string | null {
  if (assetLinkId === undefined || asset === undefined) return null
  return digestOfText(canonicalJson([assetLinkId, asset]))
}

export function digestOfText(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}
