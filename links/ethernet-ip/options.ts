import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { localAddressOf } from '@millwright/link-sdk/network/local-network.ts'
import { requiredPortsOf, wholeNumber } from '@millwright/link-sdk/network/range.ts'
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

export function scanOptionsOf(options: Options): ScanOptions {
  const usesUdp = options.udp === true
  const usesTcp = options.tcp === true
  const slots = slotsOf(options)
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

function slotsOf(options: Options): number[] {
  const parts = String(options.slots ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  const slots = parts.flatMap((part) => {
    const [, first, last = first] = /^(\d{1,2})(?:\s*-\s*(\d{1,2}))?$/.exec(part) ?? []
    const [from, to] = [Number(first), Number(last)]
    if (from <= to && to <= highestSlot) return Array.from({ length: to - from + 1 }, (_, index) => from + index)
    throw invalid(`"slots" must contain slots from 0 to ${highestSlot} such as 3 or 0-16, but contains "${part}".`)
  })
  return [...new Set(slots)].toSorted((one, other) => one - other)
}

function invalid(description: string): LinkError {
  return new LinkError('INVALID_ARGUMENT', description)
}
