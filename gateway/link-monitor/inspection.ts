import { status } from '@grpc/grpc-js'
import type { LinkParameter, LinkReport } from '@millwright/api/gatekeeper.ts'
import { interfaceNameOnLink, type LinkService, linkServices } from '@millwright/api/link-protocol.ts'
import type { GetConfigSchemaResponse, VersionInfo } from '@millwright/api/proto/generated/driver-info_pb.js'
import type { SupportedFilter, SupportedOption } from '@millwright/api/proto/generated/filters_pb.js'
import type { SentFunction as WireSentFunction } from '@millwright/api/proto/generated/sent-functions_pb.js'
import { mostSentFunctions, SentFunction } from '@millwright/api/sent-function.ts'
import { dataTypeOf, jsonOf } from '@millwright/api/variant.ts'
import Value from 'typebox/value'
import { isLinkStatus, isServiceError, LinkClient, linkErrorText, offers } from '../link-client.ts'
import { endpointOf, type Registration } from '../registry/registration.ts'

/** `Inspection` contains the information that a link reports about itself. */
export type Inspection = Pick<LinkReport, 'filters' | 'options' | 'credentialSchemas' | 'interfaces' | 'state'> &
  Partial<Pick<LinkReport, 'product' | 'problem' | 'sends'>>

export const notInspected: Inspection = {
  filters: [],
  options: [],
  credentialSchemas: [],
  interfaces: [],
  state: 'unreachable',
  problem: 'The gateway has not inspected the asset link yet',
}

const limits = { parameters: 256, schemas: 16, schemaCharacters: 200_000, description: 2_000, text: 256 } as const

const { driverInfo, discover, deviceInfo, identifiers, artefactUpdate, artefactTransfer, sentFunctions } = linkServices

/**
 * Reads the product, filters, options and credential schemas of a link. The state is `unreachable` if the link does not
 * respond at its address.
 */
export async function inspect(registration: Registration, signal: AbortSignal): Promise<Inspection> {
  using link = new LinkClient(registration)
  let version: VersionInfo | undefined
  try {
    version = (await link.call(driverInfo.method.getVersionInfo, {}, { signal })).version
  } catch (error) {
    if (!isLinkStatus(error)) return { ...notInspected, ...unreachable(registration, error) }
  }
  const filters = await optional(link.call(discover.method.getFilterTypes, {}, { signal }))
  const options = await optional(link.call(discover.method.getFilterOptions, {}, { signal }))
  const schemas = await optional(link.call(driverInfo.method.getConfigSchema, {}, { signal }))
  const sent = offers(registration, 'sentFunctions')
    ? await optional(link.call(sentFunctions.method.getSentFunctions, {}, { signal }))
    : undefined
  const services: LinkService[] = [
    ...(version === undefined ? [] : ['driverInfo' as const]),
    ...(filters.isOffered || options.isOffered ? ['discover' as const] : []),
    ...(await unnamedServices(link, registration, signal)),
  ]
  return {
    state: 'running',
    interfaces: interfacesWith(registration, services),
    ...(version === undefined ? {} : { product: productOf(version) }),
    filters: parametersOf(filters.answer?.filterTypes ?? []),
    options: parametersOf(options.answer?.filterOptions ?? []),
    credentialSchemas: schemasOf(schemas.answer),
    ...(sent?.answer === undefined ? {} : { sends: sentFunctionsOf(sent.answer.functions) }),
  }
}

/** Checks whether the link is still reachable, with the cheapest call that every link supports. */
export async function probe(
  registration: Registration,
  signal: AbortSignal,
): Promise<Pick<Inspection, 'state' | 'problem'>> {
  using link = new LinkClient(registration)
  try {
    await link.call(driverInfo.method.getVersionInfo, {}, { signal })
    return { state: 'running' }
  } catch (error) {
    return isLinkStatus(error) ? { state: 'running' } : unreachable(registration, error)
  }
}

function unreachable(registration: Registration, error: unknown): { state: 'unreachable'; problem: string } {
  const problem = `The asset link registered the address ${endpointOf(registration)}, which is not reachable from this gateway (${linkErrorText(error)}). Register an address that this gateway can reach`
  return { state: 'unreachable', problem: problem.slice(0, 1_000) }
}

/**
 * Returns the response of an optional call, and whether the link has the interface. A link that has the interface, but
 * no filters or options, returns the status UNKNOWN.
 */
async function optional<Answer>(call: Promise<Answer>): Promise<{ answer?: Answer; isOffered: boolean }> {
  try {
    return { answer: await call, isOffered: true }
  } catch (error) {
    return { isOffered: isServiceError(error) && error.code === status.UNKNOWN }
  }
}

/**
 * Returns the services that the link has although its registration does not name them. Many links register for the
 * first time before they have added all interfaces. The requests of this function name no device, so they change
 * nothing on a device.
 */
async function unnamedServices(
  link: LinkClient,
  registration: Registration,
  signal: AbortSignal,
): Promise<LinkService[]> {
  const probes: [LinkService, () => Promise<boolean>][] = [
    ['deviceInfo', () => isKnown(link.call(deviceInfo.method.getSupportedProperties, {}, { signal }))],
    ['identifiers', () => isKnown(link.call(identifiers.method.getIdentifiers, {}, { signal }))],
    ['artefactUpdate', () => link.knows(artefactUpdate.method.prepareUpdate, signal).catch(() => false)],
    ['artefactTransfer', () => link.knows(artefactTransfer.method.prepareUpdate, signal).catch(() => false)],
  ]
  const services: LinkService[] = []
  for (const [service, probeService] of probes) {
    if (!offers(registration, service) && (await probeService())) services.push(service)
  }
  return services
}

/**
 * Returns true when the link implements the method: the call succeeds, or the link returns a status other than
 * UNIMPLEMENTED.
 */
async function isKnown(call: Promise<unknown>): Promise<boolean> {
  try {
    await call
    return true
  } catch (error) {
    return isLinkStatus(error) && error.code !== status.UNIMPLEMENTED
  }
}

/** Returns the registered interfaces, and the interfaces of the services that responded. */
function interfacesWith(registration: Registration, services: readonly LinkService[]): string[] {
  const missing = services
    .filter((service) => !offers(registration, service))
    .map((service) => interfaceNameOnLink(linkServices[service], registration.vendor))
  return [...registration.interfaces, ...missing]
}

function productOf(version: VersionInfo): NonNullable<LinkReport['product']> {
  const { major, minor, patch, suffix, vendorName, productName, productDescription, docuUrl } = version
  const glue = suffix === '' || /^[-+.]/.test(suffix) ? '' : '-'
  return {
    vendor: vendorName.slice(0, limits.text),
    name: productName.slice(0, limits.text),
    version: `${major}.${minor}.${patch}${glue}${suffix}`.slice(0, 64),
    ...(productDescription === '' ? {} : { description: productDescription.slice(0, limits.description) }),
    ...(docuUrl === '' ? {} : { documentation: docuUrl.slice(0, limits.description) }),
  }
}

/** Returns the functions in the form of a report. Functions that the report cannot contain are left out. */
function sentFunctionsOf(functions: readonly WireSentFunction[]): SentFunction[] {
  return functions.slice(0, mostSentFunctions).flatMap((sent) => {
    const { protocol, operation, code, transport, ports, portsOption, onlyIf } = sent
    const listed = {
      ...{ protocol, operation, transport },
      ...(code === '' ? {} : { code }),
      ...(ports.length === 0 ? {} : { ports }),
      ...(portsOption === '' ? {} : { portsOption }),
      ...(onlyIf === '' ? {} : { onlyIf }),
      description: sent.description.slice(0, 1_000),
    }
    return Value.Check(SentFunction, listed) ? [listed] : []
  })
}

function parametersOf(supported: readonly (SupportedFilter | SupportedOption)[]): LinkParameter[] {
  return supported.slice(0, limits.parameters).map(({ key, datatype, mandatory, defaultValue, description }) => {
    const fallback = defaultValue === undefined ? undefined : jsonOf(defaultValue)
    return {
      key: key.slice(0, limits.text),
      dataType: dataTypeOf(datatype),
      mandatory,
      ...(fallback === undefined ? {} : { defaultValue: fallback }),
      ...(description === '' ? {} : { description: description.slice(0, limits.description) }),
    }
  })
}

function schemasOf(answer: GetConfigSchemaResponse | undefined): LinkReport['credentialSchemas'] {
  return (answer?.schemas ?? [])
    .filter(({ uri, schema }) => uri.length <= limits.description && schema.length <= limits.schemaCharacters)
    .slice(0, limits.schemas)
    .map(({ uri, schema }) => ({ uri, schema }))
}
