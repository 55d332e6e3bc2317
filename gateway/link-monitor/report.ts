import { gatekeeperLimits, type LinkReport } from '@millwright/api/gatekeeper.ts'
import { endpointOf, type Registration } from '../registry/registration.ts'
import type { Inspection } from './inspection.ts'

/** The cloud takes so much in one request; its envelope needs a little. */
export const reportBytes = gatekeeperLimits.linkReportBytes - 64 * 1024

/** One link, as the cloud is told about it. */
export function reportOf(registration: Registration, inspection: Inspection): LinkReport {
  const [deviceClass] = registration.driverSchemaUris
  return {
    appInstanceId: registration.appInstanceId,
    ...(deviceClass === undefined ? {} : { deviceClass }),
    vendorPrefix: registration.vendor.slice(0, 64),
    endpoint: endpointOf(registration).slice(0, 300),
    ...inspection,
    interfaces: (inspection.interfaces.length > 0 ? inspection.interfaces : registration.interfaces).slice(0, 64),
  }
}

const withoutEvents = ({ events: _, eventStream: __, ...link }: LinkReport): LinkReport => link
const withoutSchemas = (link: LinkReport): LinkReport => ({ ...withoutEvents(link), credentialSchemas: [] })

/** Less of a link rather than none of it: one that a report does not name counts as gone. */
const reductions: readonly ((link: LinkReport) => LinkReport)[] = [
  withoutEvents,
  withoutSchemas,
  (link) => ({
    ...withoutSchemas(link),
    filters: link.filters.map(({ description: _, ...rest }) => rest),
    options: link.options.map(({ description: _, ...rest }) => rest),
  }),
  (link) => ({ ...withoutSchemas(link), filters: [], options: [] }),
]

/** The report that fits into one request: whoever says most is cut first, so that nobody suffers from the words of others. */
export function fittingReport(links: readonly LinkReport[], bytes: number = reportBytes): LinkReport[] {
  const parts = links.slice(0, gatekeeperLimits.linksPerGateway).map((link) => partOf(link, 0))
  let total = parts.reduce((sum, { size }) => sum + size, 0)
  while (total > bytes) {
    const place = placeOfLargest(parts)
    const part = parts[place]
    const reduce = part && reductions[part.level]
    if (part === undefined || reduce === undefined) break
    const smaller = partOf(reduce(part.link), part.level + 1)
    parts[place] = smaller
    total += smaller.size - part.size
  }
  return parts.map(({ link }) => link)
}

type Part = { link: LinkReport; size: number; level: number }

/** With the comma behind it. */
function partOf(link: LinkReport, level: number): Part {
  return { link, size: Buffer.byteLength(JSON.stringify(link)) + 1, level }
}

/** Of those of which something can still be left out; -1 when there are none. */
function placeOfLargest(parts: readonly Part[]): number {
  let largest = -1
  for (const [place, { size, level }] of parts.entries()) {
    if (level < reductions.length && size > (parts[largest]?.size ?? 0)) largest = place
  }
  return largest
}
