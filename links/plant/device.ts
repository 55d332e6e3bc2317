import type { Credential } from '@millwright/link-sdk/credential.ts'
import type { Target } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'

/** `Device` is a simulated device with the data of its nameplate and firmware. */
export type Device = {
  name: string
  description: string
  vendor: string
  article: string
  productName: string
  family: string
  serial: string
  hardware: string
  firmware: string
  productLink: string
  /** The network interface. It is undefined for a module, which has no separate network interface. */
  network?: { mac: string; ip: string; mask: string; router?: string; port: string }
  /** The MAC address of the device that contains this module, and the slot of the module. */
  parent?: { mac: string; slot: number }
  location?: { hall: string; station: number }
  mode?: 'run' | 'stop' | 'update'
  /**
   * Whether reading the device requires credentials (`read`), and whether its administration requires them (`admin`).
   */
  needs: { read: boolean; admin: boolean }
  /** True when the device does not respond. */
  isSilent?: boolean
}

/** The user names and passwords that protected devices accept. */
export const users: Readonly<Record<string, string>> = { user: 'user_password', admin: 'admin_password' }

/** Reads a device. A protected device requires correct credentials. */
export function ask(device: Device, credentials: readonly Credential[]): Device {
  return reach(device, { credentials, isProtected: device.needs.read })
}

/** Changes a device. A device with a protected administration requires correct credentials. */
export function administer(device: Device, credentials: readonly Credential[]): Device {
  return reach(device, { credentials, isProtected: device.needs.read || device.needs.admin })
}

type Access = { credentials: readonly Credential[]; isProtected: boolean }

function reach(device: Device, { credentials, isProtected }: Access): Device {
  if (device.isSilent) throw new LinkError('UNAVAILABLE', `${device.name} does not respond.`)
  if (!isProtected || credentials.some(isUser)) return device
  throw new LinkError(
    'UNAUTHENTICATED',
    credentials.length === 0
      ? `${device.name} is protected: it needs a user and a password.`
      : `${device.name} is protected, and the credentials are wrong.`,
  )
}

function isUser({ username, password }: Credential): boolean {
  return username !== undefined && password !== undefined && users[username] === password
}

/**
 * Returns true when a device matches all identifiers of a target that can be compared. If none can be compared, the
 * target matches no device.
 */
export function isTarget(device: Device, identifiers: Target['identifiers']): boolean {
  const answers = identifiers.map((identifier) => fits(device, identifier)).filter((answer) => answer !== undefined)
  return answers.length > 0 && answers.every((answer) => answer)
}

function fits(device: Device, identifier: Target['identifiers'][number]): boolean | undefined {
  const is = (name: string, value: string | undefined) =>
    typeof identifier[name] === 'string' && identifier[name].toLowerCase() === value?.toLowerCase()
  switch (identifier.asset_identifier_type) {
    case 'IdLinkIdentifier':
      return is('id_link', device.productLink)
    case 'MacIdentifier':
      return is('mac_address', device.network?.mac)
    case 'ProductInstanceIdentifier':
      return is('serial_number', device.serial) && is('article_number', device.article)
    case 'SoftwareIdentifier':
      return is('name', 'Firmware') ? is('version', device.firmware) : undefined
    case 'CustomIdentifier':
      return customFits(device, is)
    default:
      return undefined
  }
}

function customFits(device: Device, is: (name: string, value: string | undefined) => boolean): boolean | undefined {
  const fields: Record<string, string | undefined> = {
    ip_address: device.network?.ip,
    serial_number: device.serial,
    article_number: device.article,
    device_name: device.name,
  }
  const name = Object.keys(fields).find((one) => is('name', one))
  return name === undefined ? undefined : is('value', fields[name])
}
