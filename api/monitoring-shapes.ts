import { type Static, Type } from 'typebox'
import { closed, Uuid } from './envelope.ts'

/** The limits of monitoring, and the shapes that gateways send and receive. */

export const monitoringLimits = {
  /** The maximum number of monitorings of a tenant. */
  monitorings: 100,
  /** The maximum number of assets in the list of a monitoring. */
  assetIds: 1_000,
  /** The maximum number of assets that one run monitors. */
  targets: 20_000,
  /** The maximum number of assets whose states one request reads. */
  states: 200,
  keys: 16,
  links: 32,
  /** The number of runs of a monitoring that are kept. */
  runs: 100,
  /** The number of days for which changes of the state of an asset are kept. */
  availabilityDays: 90,
  /** The longest time in hours for which the result of a check counts in the availability, if no later check follows. */
  resultHours: 24,
  /** The maximum number of changes of the state of an asset in one response. */
  changes: 1_000,
  /** The maximum number of targets that a gateway gets in one request, and of results that it sends in one request. */
  targetsPerPage: 200,
  /** The maximum number of assets in one check of a request for credentials. */
  credentialTargets: 10_000,
  /** The maximum number of links and addresses of one target. */
  linksPerTarget: 8,
  addressesPerLink: 8,
  identifiersPerTarget: 64,
  /** The maximum length of a message, and the maximum size of a value as JSON text. */
  message: 1_000,
  valueBytes: 4_096,
  /** The maximum size of the report of one device as JSON text. A larger report is left out. */
  reportBytes: 256 * 1024,
  /** The maximum size of a request with results in bytes. */
  resultBytes: 8 * 1024 * 1024,
} as const

const text = (maximum: number) => Type.String({ maxLength: maximum })
const record = Type.Record(Type.String(), Type.Unknown())

/** A device that a gateway monitors. */
export const MonitoringTarget = closed({
  assetId: Uuid,
  assetIdentifiers: Type.Array(record),
  links: Type.Array(
    closed({
      assetLinkId: text(256),
      foundAddresses: Type.Array(text(64), { description: 'Where the link found the device, oldest first' }),
    }),
    { description: 'The links to try, in order' },
  ),
  addresses: Type.Array(text(64), { description: 'The addresses that the device reported itself' }),
  isProtected: Type.Boolean({ description: 'Whether the device was last read with credentials' }),
})
export type MonitoringTarget = Static<typeof MonitoringTarget>

/** What a gateway found out about a device. */
export const MonitoredDevice = closed({
  assetId: Uuid,
  state: Type.Union([Type.Literal('reached'), Type.Literal('failed'), Type.Literal('unknown')]),
  message: Type.Optional(text(monitoringLimits.message)),
  assetLinkId: Type.Optional(
    Type.String({ minLength: 1, maxLength: 256, description: 'The link that reached the device' }),
  ),
  asset: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({ ...record, description: 'The asset as the link reports it' }),
  ),
  values: Type.Optional(
    Type.Array(
      closed({
        key: text(256),
        value: Type.Optional(Type.Unknown()),
        problem: Type.Optional(text(monitoringLimits.message)),
      }),
      { maxItems: monitoringLimits.keys },
    ),
  ),
  uses: Type.Optional(
    Type.Array(closed({ address: text(64), instanceId: Uuid, worked: Type.Boolean() }), {
      maxItems: 16,
      description: 'The credential instances that were tried',
    }),
  ),
})
export type MonitoredDevice = Static<typeof MonitoredDevice>

/** Why the inventory refused the report of a device. */
export const ReportError = closed({
  code: Type.String({ description: 'The code of the problem, such as `identity_taken`' }),
  detail: Type.String(),
})
export type ReportError = Static<typeof ReportError>
