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

const withoutEvents = ({ events: _, ...link }: LinkReport): LinkReport => link
const withoutSchemas = (link: LinkReport): LinkReport => ({ ...withoutEvents(link), credentialSchemas: [] })

/** Less of each link rather than fewer links: one that a report does not name counts as gone. */
const reductions: readonly ((link: LinkReport) => LinkReport)[] = [
  (link) => link,
  withoutEvents,
  withoutSchemas,
  (link) => ({
    ...withoutSchemas(link),
    filters: link.filters.map(({ description: _, ...rest }) => rest),
    options: link.options.map(({ description: _, ...rest }) => rest),
  }),
  (link) => ({ ...withoutSchemas(link), filters: [], options: [] }),
]

/** The report that fits into one request. */
export function fittingReport(links: readonly LinkReport[], bytes: number = reportBytes): LinkReport[] {
  const all = links.slice(0, gatekeeperLimits.linksPerGateway)
  const reduced = reductions.map((reduction) => () => all.map(reduction))
  for (const make of reduced) {
    const report = make()
    if (Buffer.byteLength(JSON.stringify(report)) <= bytes) return report
  }
  return reduced.at(-1)?.() ?? []
}
