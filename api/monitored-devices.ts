import { type Static, Type } from 'typebox'
import { closed, data, Uuid } from './envelope.ts'
import { inventoryLimits } from './inventory/shapes.ts'
import { MonitoringTarget, monitoringLimits, ReportError } from './monitoring-shapes.ts'

/** Operations of the discovery service with which the monitoring service finds devices and writes what they report. */

const byGateway = closed({ gatewayId: Uuid })

const ReadingLink = closed({ gatewayId: Uuid, assetLinkId: Type.String() })
export type ReadingLink = Static<typeof ReadingLink>

export const monitoredDeviceOperations = {
  findReadingLinks: {
    method: 'POST',
    path: '/reading-links',
    summary: 'Find for each asset the links that found it and can read its device, the best link first',
    access: 'peer',
    readOnly: true,
    bodyBytes: inventoryLimits.batchBytes,
    body: data(closed({ assetIds: Type.Array(Uuid, { minItems: 1, maxItems: inventoryLimits.devices }) })),
    answers: {
      200: data(
        Type.Array(closed({ assetId: Uuid, links: Type.Array(ReadingLink) }), {
          description: 'Assets without such a link are left out',
        }),
      ),
    },
  },
  readDeviceTargets: {
    method: 'POST',
    path: '/gateways/{gatewayId}/device-targets',
    summary: 'Read the identifiers of devices, and the addresses at which the links of a gateway found them',
    access: 'peer',
    readOnly: true,
    params: byGateway,
    body: data(closed({ assetIds: Type.Array(Uuid, { minItems: 1, maxItems: monitoringLimits.targetsPerPage }) })),
    answers: {
      200: data(
        Type.Array(
          closed({
            assetId: Uuid,
            assetIdentifiers: MonitoringTarget.properties.assetIdentifiers,
            addresses: MonitoringTarget.properties.addresses,
            links: MonitoringTarget.properties.links,
          }),
        ),
      ),
    },
  },
  recordDevices: {
    method: 'POST',
    path: '/gateways/{gatewayId}/devices',
    summary: 'Write what a link reported about devices, with the sources of a discovery with the same link',
    access: 'peer',
    bodyBytes: monitoringLimits.resultBytes,
    params: byGateway,
    body: data(
      closed({
        assetLinkId: Type.String({ minLength: 1, maxLength: 256 }),
        assets: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
          minItems: 1,
          maxItems: monitoringLimits.targetsPerPage,
        }),
        key: Type.String({
          minLength: 1,
          maxLength: 128,
          description: 'A repeated request with the same key has no effect',
        }),
      }),
    ),
    answers: {
      200: data(
        Type.Array(closed({ error: Type.Optional(ReportError) }), {
          description: 'One entry for each asset. `error` is present if the inventory refused the report',
        }),
      ),
    },
    errors: ['not_found'],
  },
} as const
