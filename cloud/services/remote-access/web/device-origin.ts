import { isIPv6 } from 'node:net'

/** The device of a web session, as browsers name it. */
export type DeviceOrigin = {
  /** The origin of the device in the form of browsers, such as `http://10.0.0.5:8080`. */
  readonly origin: string
  /** The value of the header `Host`. */
  readonly host: string
  /** All forms of host and port that name the device. A default port can be omitted. */
  readonly hosts: readonly string[]
}

export function deviceOriginOf(device: { service: 'http' | 'https'; address: string; port: number }): DeviceOrigin {
  const address = isIPv6(device.address) ? `[${device.address}]` : device.address
  const isDefault = device.port === (device.service === 'https' ? 443 : 80)
  const withPort = `${address}:${device.port}`
  const host = isDefault ? address : withPort
  return {
    origin: new URL(`${device.service}://${host}`).origin,
    host,
    hosts: isDefault ? [withPort, address] : [withPort],
  }
}
