import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import type { Asset } from '../device-identifiers.ts'

/** `DeviceFacts` is what a link learned about a device. All fields are optional, because devices report different facts. */
export type DeviceFacts = {
  name?: string | undefined
  description?: string | undefined
  manufacturer?: string | undefined
  /** The product name, such as `SCALANCE XC208`. */
  product?: string | undefined
  productFamily?: string | undefined
  /** The model within the product, if the device reports both. */
  productType?: string | undefined
  /** The web page of the product or its manufacturer. */
  productLink?: string | undefined
  /** The order number or model number. */
  orderNumber?: string | undefined
  serialNumber?: string | undefined
  hardwareVersion?: string | undefined
  firmwareVersion?: string | undefined
  /** The name of the firmware. The default is `Firmware`. */
  firmwareName?: string | undefined
  location?: string | undefined
  /** The MAC address that identifies the device. */
  macAddress?: string | undefined
  /** Further MAC addresses that identify the device, such as those of its other interfaces. */
  otherMacAddresses?: readonly string[]
  /** The SHA-256 hash of the certificate of the device, in hexadecimal digits. */
  certificateHash?: string | undefined
  interfaces?: readonly InterfaceFacts[]
  /** Further fields of the asset, such as `asset_relations`. */
  more?: Asset
}

export type InterfaceFacts = {
  /** The name of the interface, such as `eth0`. An interface with several IP addresses has one entry for each. */
  name: string
  macAddress?: string | undefined
  ipAddress?: string | undefined
  networkMask?: string | undefined
}

/** Returns the asset of a device. Its identifiers are all facts that identify the device. */
export function deviceAsset(facts: DeviceFacts): Asset {
  const { firmwareVersion, firmwareName = 'Firmware' } = facts
  return {
    functional_object_type: 'Device',
    functional_object_schema_url: baseSchemaUrl,
    name: facts.name,
    description: facts.description,
    asset_identifiers: identifiersOf(facts),
    product_instance_information: {
      serial_number: serialNumberOf(facts),
      manufacturer_product: {
        manufacturer: { name: facts.manufacturer },
        product_id: facts.orderNumber,
        product_version: facts.hardwareVersion,
        product_name: facts.product,
        product_family: facts.productFamily,
        product_type: facts.productType,
        product_link: facts.productLink,
      },
    },
    connection_points: connectionPointsOf(facts.interfaces ?? []),
    software_components:
      firmwareVersion === undefined ? [] : [softwareComponent(firmwareName, firmwareVersion, { isFirmware: true })],
    location: facts.location && [{ location_type: 'Okz', location_identifier: facts.location }],
    ...facts.more,
  }
}

/** Returns whether the facts contain an identifier. A device without an identifier cannot be stored. */
export function isIdentified(facts: DeviceFacts): boolean {
  return identifiersOf(facts).length > 0
}

/**
 * Returns the serial number without the letter S and a space before it, which are its data identifier on labels. Some
 * protocols report the serial number of a device with them, and some without.
 */
function serialNumberOf({ serialNumber }: DeviceFacts): string | undefined {
  return serialNumber?.replace(/^S (?=\S{6})/, '')
}

/** A serial number identifies a device only together with its manufacturer and its order number or product name. */
function identifiersOf(facts: DeviceFacts): Asset[] {
  const { manufacturer, macAddress, otherMacAddresses = [], certificateHash } = facts
  const serialNumber = serialNumberOf(facts)
  const articleNumber = [facts.orderNumber, facts.product].find(isFilled)
  const macAddresses = new Set([macAddress, ...otherMacAddresses].filter(isMacAddress))
  const isProduct = isFilled(manufacturer) && articleNumber !== undefined
  const isSerial = isProduct && isFilled(serialNumber) && !isPlaceholder(serialNumber)
  return [
    ...(isSerial
      ? [
          {
            asset_identifier_type: 'ProductInstanceIdentifier',
            vendor: manufacturer,
            article_number: articleNumber,
            serial_number: serialNumber,
          },
        ]
      : []),
    ...[...macAddresses].map(macIdentifier),
    ...(isFilled(certificateHash)
      ? [{ asset_identifier_type: 'CertificateIdentifier', certificate_id: certificateHash }]
      : []),
  ]
}

export function macIdentifier(macAddress: string): Asset {
  return { asset_identifier_type: 'MacIdentifier', mac_address: macAddress }
}

/**
 * Returns true for texts that devices report instead of a serial number. Many devices report the same text, so it does not
 * identify one of them.
 */
function isPlaceholder(serialNumber: string): boolean {
  return /^(0+|f+|x+|[-.?_ ]+|n\/?a|none|null|unknown|undefined|default|empty|not (available|set|specified)|(to be filled .*))$/i.test(
    serialNumber.trim(),
  )
}

/** Returns true for the MAC address of one interface: not empty, not all zeros, and not a multicast address. */
function isMacAddress(text: string | undefined): text is string {
  if (text === undefined || !/^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i.test(text)) return false
  return /[1-9a-f]/i.test(text) && (Number.parseInt(text.slice(0, 2), 16) & 1) === 0
}

function isFilled(text: string | undefined): text is string {
  return text !== undefined && text.trim() !== ''
}

/** Returns the interfaces with a MAC address, each once, and their IP addresses. */
function connectionPointsOf(interfaces: readonly InterfaceFacts[]): Asset[] {
  const ports = new Map(interfaces.flatMap((one) => (isMacAddress(one.macAddress) ? [[one.name, one] as const] : [])))
  return [
    ...[...ports.values()].map(({ name, macAddress }) => ({
      connection_point_type: 'EthernetPort',
      id: name,
      name,
      mac_address: macAddress,
    })),
    ...interfaces.flatMap(({ name, ipAddress, networkMask }) =>
      ipAddress === undefined
        ? []
        : [
            {
              connection_point_type: 'Ipv4Connectivity',
              id: `${name}-ipv4-${ipAddress}`,
              ipv4_address: ipAddress,
              network_mask: networkMask,
              related_connection_points: ports.has(name)
                ? [{ connection_point_id: name, custom_relationship: 'Relies on' }]
                : [],
            },
          ],
    ),
  ]
}

/** Returns a software component of a device with its version. */
export function softwareComponent(name: string, version: string, { isFirmware }: { isFirmware: boolean }): Asset {
  return {
    software_component_type: 'SoftwareArtifactComponent',
    artifact: {
      functional_object_type: 'SoftwareArtifact',
      functional_object_schema_url: baseSchemaUrl,
      name,
      is_firmware: isFirmware,
      asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name, version }],
    },
  }
}

/**
 * Returns a relation of the device to another device, which is known by its MAC address. The inventory finds the other
 * device by this address.
 */
export function relationTo(predicate: 'is_connected_to' | 'is_module_of', macAddress: string): Asset {
  return {
    predicate,
    relational_role_of_related_asset: 'object',
    related_asset: { asset_identifiers: [macIdentifier(macAddress)] },
  }
}
