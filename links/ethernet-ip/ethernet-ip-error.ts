import { LinkError } from '@millwright/link-sdk/link-error.ts'

type Fault = 'refused' | 'no answer' | 'closed' | 'not ethernet-ip'

/** `EthernetIpError` means that a device did not give a usable answer. */
export class EthernetIpError extends LinkError {
  readonly fault: Fault
  /** The general status and the first word of the additional status of a refused CIP message. */
  readonly status: number | undefined
  readonly extendedStatus: number | undefined
  /** Whether the device could not forward a message to a module. */
  readonly isFromRouter: boolean

  constructor(fault: Fault, description: string, refusal: Partial<Refusal> = {}) {
    super(fault === 'not ethernet-ip' ? 'PAYLOAD_DESERIALISATION_ISSUE' : 'UNAVAILABLE', description)
    this.name = 'EthernetIpError'
    this.fault = fault
    this.status = refusal.status
    this.extendedStatus = refusal.extendedStatus
    this.isFromRouter = refusal.isFromRouter ?? false
  }

  /** Whether the device or module does not support the service of the message. */
  get isServiceMissing(): boolean {
    return this.status === statusCodes.serviceNotSupported && !this.isFromRouter
  }

  /** Whether the device cannot forward messages, so that no slot can be read. */
  get isWithoutBackplane(): boolean {
    if (!this.isFromRouter) return false
    if (this.status === statusCodes.connectionFailure) return this.extendedStatus === portNotAvailable
    return this.status === statusCodes.serviceNotSupported || this.status === statusCodes.pathUnknown
  }
}

type Refusal = { status: number; extendedStatus: number | undefined; isFromRouter: boolean }

const statusCodes = { connectionFailure: 0x01, pathUnknown: 0x05, serviceNotSupported: 0x08 } as const

/** The additional status of a device without the port of a route. */
const portNotAvailable = 0x0311

const statusWords: Readonly<Record<number, string>> = {
  1: 'the module cannot be reached',
  2: 'the device has no resources for the request',
  4: 'the path is not valid',
  5: 'the object does not exist',
  8: 'the service is not supported',
  9: 'the value is not valid',
  11: 'the device is already in the requested state',
  14: 'the attribute cannot be changed',
  15: 'the device refuses the request',
  16: 'the state of the device does not allow the request',
  19: 'the request is too short',
  20: 'the attribute is not supported',
  21: 'the request is too long',
  22: 'the object does not exist',
  38: 'the length of the path is wrong',
}

/** Returns the error of a device that refuses a CIP message. */
export function refusalOf(place: string, refusal: Refusal): EthernetIpError {
  const { status, extendedStatus } = refusal
  const code = extendedStatus === undefined ? hex(status, 2) : `${hex(status, 2)}/${hex(extendedStatus, 4)}`
  const words = statusWords[status] ?? 'the link has no text for this status'
  return new EthernetIpError('refused', `${place} refuses a request with the CIP status ${code}: ${words}.`, refusal)
}

function hex(value: number, digits: number): string {
  return `0x${value.toString(16).toUpperCase().padStart(digits, '0')}`
}
