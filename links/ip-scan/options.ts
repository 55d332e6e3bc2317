import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { Log } from '@millwright/link-sdk/log.ts'
import { localAddressOf, segmentOf, segments } from '@millwright/link-sdk/network/local-network.ts'
import { macAddressOf } from '@millwright/link-sdk/network/neighbours.ts'
import type { Permits } from '@millwright/link-sdk/network/permits.ts'
import { portsOf, wholeNumber } from '@millwright/link-sdk/network/range.ts'
import { defaultOptionsOf, type Options } from '@millwright/link-sdk/parameters.ts'
import type { HostProbes, Surroundings } from './host.ts'
import { manifest } from './manifest.ts'
import { openPing, pingAdvice } from './ping.ts'

/** `ScanOptions` are the validated options of a scan. */
export type ScanOptions = {
  ports: readonly number[]
  timeoutMs: number
  parallel: number
  localAddress: string | undefined
  icmp: boolean
  reverseDns: boolean
  dnsServer: string
}

const mostPorts = 64

/** The operating system repeats the first packet of a connection after one second. The limit is below that. */
const timeoutLimits = { least: 50, most: 950 } as const

export function scanOptionsOf(options: Options): ScanOptions {
  const ports = portsOf(options, 'ports')
  if (ports.length > mostPorts) {
    throw new LinkError('INVALID_ARGUMENT', `"ports" must contain at most ${mostPorts} ports, but has ${ports.length}.`)
  }
  return {
    ports,
    timeoutMs: wholeNumber(options, 'timeout_ms', timeoutLimits),
    parallel: wholeNumber(options, 'parallel', { least: 1, most: 256 }),
    localAddress: localAddressOf(options),
    icmp: options.icmp === true,
    reverseDns: options.reverse_dns === true,
    dnsServer: String(options.dns_server ?? '').trim(),
  }
}

/** The options that apply if a device is read outside a scan. */
export const defaultOptions: Options = defaultOptionsOf(manifest)

/** Returns what this machine knows about its network. Its interfaces are read once per scan. */
export function thisMachine(): Surroundings {
  const all = segments()
  return { macAddressOf, segmentOf: (address) => segmentOf(address, all) }
}

type ProbeContext = { permits: Permits; signal: AbortSignal; log: Log; surroundings: Surroundings }

export async function probesOf(
  { ports, timeoutMs, localAddress, icmp }: ScanOptions,
  { permits, signal, log, surroundings }: ProbeContext,
): Promise<HostProbes> {
  const ping = icmp ? await openPing() : undefined
  if (icmp && ping === undefined) log.warn(pingAdvice)
  return { ports, timeoutMs, localAddress, ping, permits, signal, surroundings }
}
