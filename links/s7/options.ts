import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { localAddressOf } from '@millwright/link-sdk/network/local-network.ts'
import { numbersOf, requiredPortsOf, wholeNumber } from '@millwright/link-sdk/network/range.ts'
import type { Options } from '@millwright/link-sdk/parameters.ts'
import { type ConnectionType, connectionTypes } from './message.ts'

/** `ScanOptions` are the options of a discovery. */
export type ScanOptions = {
  ports: readonly number[]
  rack: number
  slots: readonly number[]
  moduleSlots: readonly number[]
  connectionType: ConnectionType
  timeoutMs: number
  deviceSeconds: number
  parallel: number
  localAddress: string | undefined
}

/** The highest rack and slot that the address of a module (TSAP) can contain, and the highest value of both together. */
export const highest = { rack: 7, slot: 31, position: 255 } as const

const slotNumbers = { least: 0, most: highest.slot, noun: 'slots', example: '2 or 4-11' }

export function scanOptionsOf(options: Options): ScanOptions {
  const slots = numbersOf(options, 'slots', slotNumbers)
  if (slots.length === 0) throw invalid('"slots" must contain at least one slot, such as 2.')
  return {
    ports: requiredPortsOf(options, 'ports'),
    rack: wholeNumber(options, 'rack', { least: 0, most: highest.rack }),
    slots,
    moduleSlots: numbersOf(options, 'module_slots', slotNumbers),
    connectionType: connectionTypeOf(options.connection_type),
    timeoutMs: wholeNumber(options, 'timeout_ms', { least: 50, most: 30_000 }),
    deviceSeconds: wholeNumber(options, 'device_seconds', { least: 1, most: 3_600 }),
    parallel: wholeNumber(options, 'parallel', { least: 1, most: 256 }),
    localAddress: localAddressOf(options),
  }
}

function connectionTypeOf(value: unknown): ConnectionType {
  if (typeof value === 'string' && Object.hasOwn(connectionTypes, value)) return value as ConnectionType
  throw invalid(`"connection_type" must be pg, op or basic, but is "${value}".`)
}

function invalid(description: string): LinkError {
  return new LinkError('INVALID_ARGUMENT', description)
}
