import { gatekeeperLimits, type LinkReport, type ManagedLink } from '@millwright/api/gatekeeper.ts'
import { endpointOf, type Registration } from '../registry/registration.ts'
import type { Inspection } from './inspection.ts'

/** The size limit of a report. It is the limit of a request, reduced by the size of the envelope. */
export const reportBytes = gatekeeperLimits.linkReportBytes - 64 * 1024

/** Returns the report of one link. */
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
function withoutSchemas(link: LinkReport): LinkReport {
  const { sends: _, ...rest } = withoutEvents(link)
  return { ...rest, credentialSchemas: [] }
}

/**
 * The successive steps that make the report of a link smaller. A link is never left out, because the cloud would treat
 * a missing link as gone.
 */
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

/** The built-in links are reported without their log lines if they are larger than this. */
const managedLinkBytes = 256 * 1024

/** Returns the reports of all links and of the built-in links, reduced until they fit into one request. */
export function fittingReports(
  links: readonly LinkReport[],
  managed: readonly ManagedLink[],
  bytes: number = reportBytes,
): { links: LinkReport[]; managedLinks?: ManagedLink[] } {
  if (managed.length === 0) return { links: fittingReport(links, bytes) }
  const isLarge = sizeOf(managed) > Math.min(managedLinkBytes, bytes / 2)
  const managedLinks = managed.map(({ log, ...link }) => (isLarge || log === undefined ? link : { ...link, log }))
  return { links: fittingReport(links, bytes - sizeOf(managedLinks)), managedLinks }
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/** Reduces the reports until they fit into one request. The largest report is reduced first. */
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

type ReportPart = { link: LinkReport; size: number; level: number }

/** Returns a report with its size. The size includes the comma after the report. */
function partOf(link: LinkReport, level: number): ReportPart {
  return { link, size: sizeOf(link) + 1, level }
}

/** Returns the index of the largest report that can be reduced further, or -1 when there is none. */
function placeOfLargest(parts: readonly ReportPart[]): number {
  let largest = -1
  for (const [place, { size, level }] of parts.entries()) {
    if (level < reductions.length && size > (parts[largest]?.size ?? 0)) largest = place
  }
  return largest
}
