import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import type { DeviceFacts } from '@millwright/link-sdk/network/device-asset.ts'
import { manufacturerName } from '../manufacturer-name.ts'
import type { Reading, Service } from './device.ts'
import { axisVideoType, isPrinter, namesDevice, workstationType } from './service-types.ts'

/** The key of the annotation with the services. */
const servicesKey = 'mdns_services'
/** The number of services in the annotation. */
const mostListed = 32
/** The maximum number of reported MAC addresses that identify one device. */
const mostMacs = 16

/** `Nameplate` is what one service reports about its device. */
type Nameplate = {
  manufacturer?: string | undefined
  orderNumber?: string | undefined
  product?: string | undefined
  serialNumber?: string | undefined
  firmwareVersion?: string | undefined
  hardwareVersion?: string | undefined
  location?: string | undefined
  macAddress?: string | undefined
}

/**
 * The keys of TXT records, in lower case and without `_`, `-` and `.`, best first. There is no standard for most services.
 * `usb_MFG`, `usb_MDL`, `mfg`, `mdl`, `ty` and `product` are keys of printers and scanners.
 */
const keys = {
  manufacturer: ['manufacturer', 'vendor', 'vendorname', 'mfg', 'usbmfg', 'brand'],
  orderNumber: ['ordernumber', 'articlenumber', 'partnumber', 'productcode'],
  product: ['model', 'modelname', 'mdl', 'usbmdl', 'md', 'productname', 'ty', 'product'],
  serialNumber: ['serialnumber', 'serial', 'serialno', 'sn'],
  firmwareVersion: ['firmwareversion', 'firmware', 'fwversion', 'fwver', 'fw', 'softwareversion', 'swversion'],
  hardwareVersion: ['hardwareversion', 'hardware', 'hwversion', 'hwver', 'hw'],
  macAddress: ['macaddress', 'mac', 'macaddr'],
} as const satisfies Partial<Record<keyof Nameplate, readonly string[]>>

type MdnsDevice = { ipAddress: string; macAddress: string | undefined; reading: Reading }

/**
 * Returns the facts of a device. The manufacturer, the product and the serial number are from one record, because a device
 * can announce services of its parts.
 */
export function factsOf({ ipAddress, macAddress, reading }: MdnsDevice): DeviceFacts {
  const { hostName, services } = reading
  const plates = services.map(nameplateOf)
  const plate =
    plates.find((one) => one.manufacturer && one.product && one.serialNumber) ??
    plates.find((one) => one.manufacturer && one.product) ??
    plates.find((one) => one.product) ??
    {}
  const first = (field: keyof Nameplate) => plates.find((one) => one[field] !== undefined)?.[field]
  const reported = [...new Set(plates.flatMap((one) => one.macAddress ?? []))].slice(0, mostMacs)
  const ownMac = macAddress ?? reported[0]
  return {
    name: services.find(({ type }) => namesDevice(type))?.name ?? hostName ?? services[0]?.name,
    manufacturer: plate.manufacturer,
    orderNumber: plate.orderNumber,
    product: plate.product,
    serialNumber: plate.serialNumber,
    firmwareVersion: plate.firmwareVersion ?? first('firmwareVersion'),
    hardwareVersion: plate.hardwareVersion ?? first('hardwareVersion'),
    location: first('location'),
    macAddress: ownMac,
    otherMacAddresses: reported,
    interfaces: ownMac === undefined ? [] : [{ name: 'ethernet', macAddress: ownMac, ipAddress }],
    more: annotationsOf(services),
  }
}

function annotationsOf(services: readonly Service[]): Asset {
  const texts = services.map(({ type, port }) => (port === undefined ? type : `${type} ${port}`))
  const listed = [...new Set(texts)].toSorted().slice(0, mostListed)
  return { instance_annotations: listed.length === 0 ? [] : [{ key: servicesKey, value: listed.join(', ') }] }
}

function nameplateOf(service: Service): Nameplate {
  const texts = textsOf(service)
  const find = (field: keyof typeof keys) => keys[field].map((key) => texts.get(key)).find((text) => text !== undefined)
  const manufacturer = find('manufacturer')
  return {
    manufacturer: manufacturer && manufacturerName(manufacturer),
    orderNumber: find('orderNumber'),
    product: find('product'),
    serialNumber: find('serialNumber'),
    firmwareVersion: find('firmwareVersion'),
    hardwareVersion: find('hardwareVersion'),
    macAddress: macIn(find('macAddress')),
    location: isPrinter(service.type) ? texts.get('note') : undefined,
    ...ofType(service, macIn(find('macAddress'))),
  }
}

/** Returns the facts that the name of a service contains, for types whose names have a known form. */
function ofType({ type, name }: Service, macAddress: string | undefined): Nameplate {
  if (type === workstationType) return { macAddress: macIn(/\[([0-9a-f:]{17})\]$/i.exec(name)?.[1]) }
  if (type !== axisVideoType) return {}
  // The name is the product and the serial number, unless a person changed it. The serial number is the MAC address.
  const [, product, serial] = /^(AXIS .+?)(?: - ([0-9A-F]{12}))?$/i.exec(name) ?? []
  const serialNumber = serial?.toUpperCase() ?? macAddress?.replaceAll(':', '')
  return {
    manufacturer: 'Axis',
    ...(product === undefined ? {} : { product }),
    ...(serialNumber === undefined ? {} : { serialNumber }),
    ...(macAddress === undefined && serial !== undefined ? { macAddress: macIn(serial) } : {}),
  }
}

/** Returns the values of a TXT record by their keys. The first of several values of a key counts (RFC 6763, section 6.4). */
function textsOf({ txt }: Service): Map<string, string> {
  const texts = new Map<string, string>()
  for (const entry of txt) {
    const at = entry.indexOf('=')
    const key = entry.slice(0, Math.max(0, at)).toLowerCase().replaceAll(/[_.-]/g, '')
    // The product of a printer is in parentheses.
    const value = entry
      .slice(at + 1)
      .trim()
      .replace(/^\((.*)\)$/, '$1')
      .trim()
    if (key !== '' && value !== '' && !texts.has(key)) texts.set(key, value)
  }
  return texts
}

/**
 * Returns a MAC address in the form of the inventory. Devices report it with colons, hyphens or without separators. Locally
 * administered addresses do not identify a device: containers on several machines have the same ones.
 */
function macIn(text: string | undefined): string | undefined {
  const digits = text?.replaceAll(/[:.-]/g, '').toUpperCase() ?? ''
  const isAssigned = /^[0-9A-F]{12}$/.test(digits) && (Number.parseInt(digits.slice(0, 2), 16) & 0b11) === 0
  return isAssigned ? digits.match(/../g)?.join(':') : undefined
}
