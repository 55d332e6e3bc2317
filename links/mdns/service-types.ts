/*
 * The types of services that describe their device best, best first. Their TXT records contain the manufacturer, the model
 * or the serial number.
 */
const describingTypes: readonly string[] = [
  '_assetlink._tcp',
  '_axis-video._tcp',
  '_ipp._tcp',
  '_ipps._tcp',
  '_printer._tcp',
  '_pdl-datastream._tcp',
  '_uscan._tcp',
  '_uscans._tcp',
  '_scanner._tcp',
  '_device-info._tcp',
  '_opcua-tcp._tcp',
  '_http._tcp',
  '_https._tcp',
  '_workstation._tcp',
]

/** The types that are queried at a device that does not list its types. */
export const usualTypes: readonly string[] = [
  '_assetlink._tcp',
  '_axis-video._tcp',
  '_ipp._tcp',
  '_opcua-tcp._tcp',
  '_http._tcp',
  '_workstation._tcp',
]

/** The types whose service has the name that a person gave to the device. */
const namingTypes = new Set(['_assetlink._tcp', '_axis-video._tcp', '_ipp._tcp', '_ipps._tcp', '_printer._tcp'])

/** The types of printers and scanners, whose TXT records have the keys of the Bonjour Printing Specification. */
const printerTypes = new Set([
  '_ipp._tcp',
  '_ipps._tcp',
  '_printer._tcp',
  '_pdl-datastream._tcp',
  '_uscan._tcp',
  '_uscans._tcp',
  '_scanner._tcp',
])

export const axisVideoType = '_axis-video._tcp'
export const workstationType = '_workstation._tcp'
export const deviceInfoType = '_device-info._tcp'

export function namesDevice(type: string): boolean {
  return namingTypes.has(type)
}

export function isPrinter(type: string): boolean {
  return printerTypes.has(type)
}

/** Compares two types: the type that describes its device better comes first, and then the type that is first by its name. */
export function compareTypes(one: string, other: string): number {
  const [first, second] = [one, other].map((type) => {
    const place = describingTypes.indexOf(type.toLowerCase())
    return place < 0 ? describingTypes.length : place
  })
  return (first ?? 0) - (second ?? 0) || (one < other ? -1 : one > other ? 1 : 0)
}
