import { isUtf8 } from 'node:buffer'
import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import { type DeviceFacts, deviceAsset, macIdentifier, relationTo } from '@millwright/link-sdk/network/device-asset.ts'
import { manufacturerName } from '../manufacturer-name.ts'
import { firstPrivateObject, type Identification, objectIds } from './device.ts'

/** `Nameplate` contains the identification of a unit as text. */
export type Nameplate = Partial<Record<keyof typeof objectIds, string>> & {
  conformityLevel?: number
  /** The private objects of the manufacturer by their number. */
  privateObjects?: Readonly<Record<string, string>>
  /** The answer of a device without identification to Report Server ID. */
  serverId?: string
}

const longestText = 256

export function nameplateOf({ conformityLevel, objects }: Identification): Nameplate {
  const texts = Object.entries(objectIds).map(([name, id]) => [name, textOf(objects.get(id))])
  const privateObjects = [...objects]
    .filter(([id]) => id >= firstPrivateObject)
    .flatMap(([id, value]) => {
      const text = textOf(value)
      return text === undefined ? [] : [[String(id), text] as const]
    })
  return {
    ...Object.fromEntries(texts.filter(([, text]) => text !== undefined)),
    conformityLevel,
    ...(privateObjects.length === 0 ? {} : { privateObjects: Object.fromEntries(privateObjects) }),
  }
}

/**
 * Returns the readable text of an object. The specification allows only ASCII, but some devices send UTF-8 or Latin-1.
 * Devices fill unused bytes with spaces, 0x00 or 0xFF.
 */
export function textOf(bytes: Buffer | undefined): string | undefined {
  if (bytes === undefined) return undefined
  const text = bytes
    .toString(isUtf8(bytes) ? 'utf8' : 'latin1')
    .replaceAll(/[\p{C}\xff]+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, longestText)
  return text === '' ? undefined : text
}

/** `ModbusDevice` is a device with its own IP address. */
type ModbusDevice = { ipAddress: string; macAddress: string | undefined; nameplate: Nameplate }

export function factsOf({ ipAddress, macAddress, nameplate }: ModbusDevice): DeviceFacts {
  const port = macAddress === undefined ? [] : [{ name: 'ethernet', macAddress, ipAddress }]
  return { ...productOf(nameplate), macAddress, interfaces: port }
}

/**
 * Returns the asset of a unit behind a gateway. Modbus has no serial number, so the unit is identified by its gateway and
 * its unit id.
 */
export function unitAsset({ unit, gatewayMac, nameplate }: { unit: number; gatewayMac: string; nameplate: Nameplate }) {
  const identifier = {
    asset_identifier_type: 'ParentRelativeIdentifier',
    parent_identifier: macIdentifier(gatewayMac),
    slot: unit,
    subslot: 0,
  }
  const more: Asset = { asset_identifiers: [identifier], asset_relations: [relationTo('is_module_of', gatewayMac)] }
  return deviceAsset({ ...productOf(nameplate), more })
}

function productOf(nameplate: Nameplate): DeviceFacts {
  const { vendorName, productCode, majorMinorRevision, productName, modelName, userApplicationName } = nameplate
  return {
    name: userApplicationName ?? productName ?? modelName ?? productCode,
    description: nameplate.serverId,
    manufacturer: vendorName === undefined ? undefined : manufacturerName(vendorName),
    orderNumber: productCode,
    product: productName ?? modelName,
    productType: productName === undefined ? undefined : modelName,
    productLink: linkOf(nameplate.vendorUrl),
    firmwareVersion: majorMinorRevision,
  }
}

/** Returns the web page of the manufacturer. Many devices send it without `https://`. */
function linkOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const link = /^https?:\/\//i.test(text) ? text : `https://${text}`
  return /^[^\s]+\.[^\s]+$/.test(text) && URL.canParse(link) ? link : undefined
}
