import { createHash } from 'node:crypto'
import type { AssetLink } from '@millwright/api/discovery.ts'
import type { LinkReport } from '@millwright/api/gatekeeper.ts'
import { platformIdentifiers } from '@millwright/api/inventory/identity.ts'
import type { AssetDocument } from '@millwright/api/inventory/inventory.ts'
import { rankOf } from '@millwright/api/link-rank.ts'
import { isAtLeast } from '../../platform/semantic-version.ts'
import type { LinkRow } from './link-store.ts'

/** The interfaces of asset links that a gateway supports, without the vendor prefix. */
const knownInterfaces: readonly string[] = [
  'industrialassethub.discover.v1',
  'connectivitysuite.deviceinfo.v1',
  'common.identifiers.v1',
  'industrialassethub.artefact_update.v1',
  'artefact_update.v1',
  'commondevicemanagement.devicediscovery.v1',
  'commondevicemanagement.firmwareupdateApi.v1',
  'connectivitysuite.registry.v1',
  'connectivitysuite.alarmsevents.v1',
  'connectivitysuite.drvinfo.v1',
  'connectivitysuite.driverevent.v1',
]

const discovering: readonly string[] = ['industrialassethub.discover.v1', 'commondevicemanagement.devicediscovery.v1']
/** The interfaces through which a link reads single devices. */
const deviceReading: readonly string[] = ['connectivitysuite.deviceinfo.v1', 'common.identifiers.v1']

/** The interfaces through which a link installs artefacts on devices. */
const updating: readonly string[] = ['industrialassethub.artefact_update.v1', 'artefact_update.v1']
/** The interface of the first generation. It installs only firmware. */
const updatingFirmware = 'commondevicemanagement.firmwareupdateApi.v1'
/** The interface through which a link also reads artefacts from devices. */
const retrieving = 'factory_x.artefact_update.v1'

/** Removes the vendor prefix from the name of an interface. The messages of the interface do not depend on the prefix. */
export function interfaceOf(name: string): string {
  return name.slice(name.indexOf('.') + 1)
}

export function canDiscover(interfaces: readonly string[]): boolean {
  return interfaces.some((name) => discovering.includes(interfaceOf(name)))
}

export function canReadProperties(interfaces: readonly string[]): boolean {
  return interfaces.some((name) => deviceReading.includes(interfaceOf(name)))
}

/** Compares two links of a device: running links first, then by rank, then by id. */
export function compareLinks(one: LinkRow, other: LinkRow): number {
  const rank = ({ appInstanceId, report }: LinkRow) => rankOf(report.deviceClass ?? appInstanceId)
  const key = ({ gatewayId, appInstanceId }: LinkRow) => `${gatewayId} ${appInstanceId}`
  return (
    Number(other.state === 'running') - Number(one.state === 'running') ||
    rank(other) - rank(one) ||
    (key(one) < key(other) ? -1 : 1)
  )
}

/** Returns which artefacts a link can install on devices: all kinds, only firmware, or none. */
export function updatableKinds(interfaces: readonly string[]): 'all' | 'firmware' | 'none' {
  const names = interfaces.map(interfaceOf)
  if (names.some((name) => updating.includes(name))) return 'all'
  return names.includes(updatingFirmware) ? 'firmware' : 'none'
}

export function canRetrieve(interfaces: readonly string[]): boolean {
  return interfaces.includes(retrieving)
}

/** The interface that a link registers if it asks its gateway for permits. */
const permits = 'safety.permits.v1'

/** Returns whether a link asks its gateway for a permit before it sends anything. */
export function isBudgeted(interfaces: readonly string[]): boolean {
  return interfaces.some((name) => interfaceOf(name) === permits)
}

/** The first gateway version that supports the interfaces of asset links. */
export const minimumGatewayVersion = '0.3.10'

/** Returns the reason why a gateway of this version cannot use a link. Returns `undefined` if it can. */
export function incompatibility(interfaces: readonly string[], gatewayVersion: string | undefined): string | undefined {
  if (gatewayVersion !== undefined && !isAtLeast(gatewayVersion, minimumGatewayVersion)) {
    return `The gateway has version ${gatewayVersion}, but asset links need gateway version ${minimumGatewayVersion} or higher. Update the gateway.`
  }
  if (interfaces.length === 0) return 'The asset link registered no interfaces'
  if (interfaces.some((name) => knownInterfaces.includes(interfaceOf(name)))) return undefined
  return `The asset link registered only unsupported interfaces: ${interfaces.join(', ')}`
}

/**
 * Returns the asset that represents a link: a software artifact. If several gateways have the same link, each gateway
 * has its own asset for the link. An upgrade of the link updates the asset.
 */
export function assetOfLink(report: LinkReport, gatewayId: string): AssetDocument {
  const { product, deviceClass } = report
  return {
    functional_object_type: 'SoftwareArtifact',
    name: product?.name ?? report.appInstanceId,
    ...(product?.description === undefined ? {} : { description: product.description }),
    asset_identifiers: [
      {
        asset_identifier_type: 'CustomIdentifier',
        name: platformIdentifiers.assetLink,
        value: identifierValue(`${gatewayId}/${report.appInstanceId}`),
      },
    ],
    product_instance_information: {
      manufacturer_product: {
        ...(deviceClass === undefined ? {} : { product_id: deviceClass }),
        ...(product === undefined
          ? {}
          : {
              product_name: product.name,
              product_version: product.version,
              manufacturer: { name: product.vendor },
            }),
      },
    },
  }
}

/** Returns the product id and the product version of a link. They decide which credentials the link gets. */
export function productNumberOf({ deviceClass, product }: LinkReport) {
  if (deviceClass === undefined || product === undefined) return undefined
  return { identifier: deviceClass, version: product.version }
}

/** Converts text to an identifier value, which has a limited length and a limited set of characters. */
function identifierValue(text: string): string {
  const plain = encodeURIComponent(text).replaceAll('%2F', '/')
  if (plain.length <= 256) return plain
  return `${plain.slice(0, 190)}~${createHash('sha256').update(text).digest('hex')}`
}

/** Returns a hash that changes when the asset of a link must be written again. */
export function digestOf(report: LinkReport): string {
  const { product, deviceClass } = report
  return createHash('sha256')
    .update(JSON.stringify([product, deviceClass]))
    .digest('base64url')
    .slice(0, 22)
}

type StoredLink = { assetId: string; report: LinkReport; lastSeenAt: string }

/**
 * The time after which the state of a link is unknown if its gateway does not report. A gateway reports its links every
 * minute.
 */
const silentMs = 3 * 60_000

export function showLink(
  { assetId, report, lastSeenAt }: StoredLink,
  { now, gatewayVersion, isRevoked }: { now: Date; gatewayVersion: string | undefined; isRevoked: boolean },
): AssetLink {
  const { product } = report
  const isSilent = report.state === 'running' && now.getTime() - Date.parse(lastSeenAt) > silentMs
  const problem = isRevoked ? 'The gateway was revoked' : isSilent ? silenceProblem(lastSeenAt) : report.problem
  const why = incompatibility(report.interfaces, gatewayVersion)
  return {
    assetLinkId: report.appInstanceId,
    assetId,
    ...(report.deviceClass === undefined ? {} : { deviceClass: report.deviceClass }),
    ...(product === undefined ? {} : { product: productOf(product), version: product.version }),
    interfaces: report.interfaces,
    compatible: why === undefined,
    ...(why === undefined ? {} : { incompatibility: why }),
    filters: report.filters,
    options: report.options,
    endpoint: report.endpoint,
    budgeted: isBudgeted(report.interfaces),
    ...(report.sends === undefined ? {} : { sends: report.sends }),
    ...(report.credentialSchemas.length > 0 && { credentialSchemas: report.credentialSchemas.length }),
    reachable: report.state === 'running' && !isSilent && !isRevoked,
    ...(problem === undefined ? {} : { problem }),
    state: report.state,
    lastSeenTimestamp: lastSeenAt,
    events: (report.events ?? []).map(({ sequence: _, ...event }) => event),
  }
}

export function silenceProblem(lastSeenAt: string): string {
  return `The gateway has not reported this link since ${lastSeenAt}. Check that the gateway is running and can reach the platform.`
}

function productOf({ version: _, ...product }: NonNullable<LinkReport['product']>) {
  return product
}
