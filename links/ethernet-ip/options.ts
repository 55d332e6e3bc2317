import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { localAddressOf } from '@millwright/link-sdk/network/local-network.ts'
import { numbersOf, requiredPortsOf, wholeNumber } from '@millwright/link-sdk/network/range.ts'
import type { Options } from '@millwright/link-sdk/parameters.ts'

/** `ScanOptions` are the options of a discovery. */
export type ScanOptions = {
  ports: readonly number[]
  usesUdp: boolean
  usesTcp: boolean
  readsDetails: boolean
  slots: readonly number[]
  timeoutMs: number
  deviceSeconds: number
  parallel: number
  localAddress: string | undefined
}

export const highestSlot = 63

const slotNumbers = { least: 0, most: highestSlot, noun: 'slots', example: '3 or 0-16' }

export function scanOptionsOf(options: Options): ScanOptions {
  const usesUdp = options.udp === true
  const usesTcp = options.tcp === true
  const slots = numbersOf(options, 'slots', slotNumbers).toSorted((one, other) => one - other)
  if (!usesUdp && !usesTcp) throw invalid('At least one of "udp" and "tcp" must be true.')
  if (!usesTcp && slots.length > 0) throw invalid('"slots" needs TCP connections. Set "tcp" to true.')
  return {
    ports: requiredPortsOf(options, 'ports'),
    usesUdp,
    usesTcp,
    readsDetails: usesTcp && options.details === true,
    slots,
    timeoutMs: wholeNumber(options, 'timeout_ms', { least: 50, most: 30_000 }),
    deviceSeconds: wholeNumber(options, 'device_seconds', { least: 1, most: 3_600 }),
    parallel: wholeNumber(options, 'parallel', { least: 1, most: 256 }),
    localAddress: localAddressOf(options),
  }
}

function invalid(description: string): LinkError {
  return new LinkError('INVALID_ARGUMENT', description)
}
