import { type DeviceDestination, readDevice, readServiceOf } from '../device-info/device-info.ts'
import type { CredentialSource } from '../job-credentials.ts'
import { LinkClient } from '../link-client.ts'
import type { MappingResult } from '../mapping/asset.ts'
import type { Registration } from '../registry/registration.ts'
import type { Finding } from './findings.ts'
import { type ProtectedDevice, protectedDeviceOf } from './protected-device.ts'
import { type ReportedDevice, type ScanOptions, scan } from './scan.ts'
import { ScanRelations } from './scan-relations.ts'
import { unlock } from './unlock.ts'

/**
 * The maximum number of protected devices of one scan that are read again with credentials. These devices stay in
 * memory until the end of the scan.
 */
const maxProtectedDevices = 100_000

type Options = Omit<ScanOptions, 'targets'> & {
  /** Returns the interfaces of the link, if the gateway knows more of them than the link registered. */
  inspected?: () => Pick<Registration, 'interfaces'> | undefined
  newCredentials: () => CredentialSource
  /** Returns true when the scan has already found the device. */
  isFound: (device: MappingResult) => boolean
  /** Is called for each device that needs credentials. */
  onProtected?: (device: ProtectedDevice) => void
  /** Is called before the protected devices are read. */
  onUnlocking?: () => void
}

/** `ScanFinding` is a finding of a scan. `connection` and `progress` are set only while the link scans. */
export type ScanFinding = Omit<Finding, 'devices'> & {
  devices?: (NonNullable<Finding['devices']>[number] & Pick<ReportedDevice, 'connection'>)[]
  progress?: number
}

/**
 * Scans with a link, and then reads the devices that need credentials. If the link fails, the protected devices are yielded
 * as errors before the error is thrown.
 */
export async function* scanWithCredentials(options: Options): AsyncGenerator<ScanFinding> {
  const { registration, scanRequest, scanId, silenceMs, signal, onProtected } = options
  const locked = new Map<string, ProtectedDevice>()
  const relations = new ScanRelations()
  try {
    for await (const { devices, errors, ...progress } of scan(options)) {
      const others = errors.filter((error) => {
        const one = locked.size < maxProtectedDevices ? protectedDeviceOf(error) : undefined
        if (one === undefined) return true
        locked.set(one.place.key, one)
        onProtected?.(one)
        return false
      })
      yield { devices: relations.take(devices), errors: others.map(({ error }) => error), ...progress }
    }
    yield relations.finding()
  } catch (error) {
    yield { errors: [...locked.values()].map((one) => one.error) }
    throw error
  }
  if (locked.size === 0) return
  const service = readServiceOf(options.inspected?.() ?? registration)
  using link = new LinkClient(registration, { purpose: 'scan', scanId })
  options.onUnlocking?.()
  yield* unlock([...locked.values()], {
    ...(service === undefined
      ? {}
      : {
          read: (device: DeviceDestination, readSignal: AbortSignal) =>
            readDevice(link, { device, service, signal: readSignal }),
        }),
    isFound: options.isFound,
    newCredentials: options.newCredentials,
    discover: (targets, scanSignal) =>
      scan({ registration, scanRequest, scanId, targets, silenceMs, signal: scanSignal }),
    signal,
  })
}
