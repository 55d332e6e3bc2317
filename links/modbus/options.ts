import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { localAddressOf } from '@millwright/link-sdk/network/local-network.ts'
import { numbersOf, requiredPortsOf, wholeNumber } from '@millwright/link-sdk/network/range.ts'
import type { Options } from '@millwright/link-sdk/parameters.ts'
import { type Category, categories } from './device.ts'

/** `ScanOptions` are the options of a discovery. */
export type ScanOptions = {
  ports: readonly number[]
  unitIds: readonly number[]
  gatewayUnits: readonly number[]
  category: Category
  reportsServerId: boolean
  timeoutMs: number
  deviceSeconds: number
  parallel: number
  localAddress: string | undefined
}

const highestUnit = 255
/** The highest id of a unit on a serial line. */
const highestSerialUnit = 247
const unitIdTexts = { noun: 'unit ids', example: '1 or 1-32' }

export function scanOptionsOf(options: Options): ScanOptions {
  const unitIds = numbersOf(options, 'unit_ids', { ...unitIdTexts, least: 0, most: highestUnit })
  if (unitIds.length === 0) throw invalid('"unit_ids" must contain at least one unit id, such as 255.')
  return {
    ports: requiredPortsOf(options, 'ports'),
    unitIds,
    gatewayUnits: numbersOf(options, 'gateway_units', { ...unitIdTexts, least: 1, most: highestSerialUnit }),
    category: categoryOf(options.category),
    reportsServerId: options.report_server_id === true,
    timeoutMs: wholeNumber(options, 'timeout_ms', { least: 50, most: 30_000 }),
    deviceSeconds: wholeNumber(options, 'device_seconds', { least: 1, most: 3_600 }),
    parallel: wholeNumber(options, 'parallel', { least: 1, most: 256 }),
    localAddress: localAddressOf(options),
  }
}

function categoryOf(value: unknown): Category {
  if (typeof value === 'string' && Object.hasOwn(categories, value)) return value as Category
  throw invalid(`"category" must be basic, regular or extended, but is "${value}".`)
}

function invalid(description: string): LinkError {
  return new LinkError('INVALID_ARGUMENT', description)
}
