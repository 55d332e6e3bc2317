import type { JsonValue, VariantValue } from '@millwright/api/variant.ts'
import type { Credential } from './credential.ts'
import type { Asset } from './device-identifiers.ts'
import type { LinkError } from './link-error.ts'
import type { Log } from './log.ts'
import { faultsOf, type Manifest } from './manifest.ts'
import type { Filter, Options } from './parameters.ts'
import type { Updates } from './update.ts'

/** The address of a device, in fields that the link defines. Calls get it back as the discovery returned it. */
export type Address = { readonly [field: string]: JsonValue }

/** The device of a call. */
export type Target = {
  address: Address
  /** The identifiers of the device in the inventory, if the caller has no address. */
  identifiers: readonly Address[]
  /** The name of a connection, if the link is configured with named connections. */
  connectionName?: string
  credentials: readonly Credential[]
}

type Call = { signal: AbortSignal; log: Log }

export type DiscoverCall = Call & {
  filters: readonly Filter[]
  options: Options
  /** The devices to scan, with their credentials. Empty: scan everything. */
  targets: readonly Target[]
  /**
   * Reports the percentage of the range that has been scanned, from 0 to 100. Call it as often as you like, where the link
   * knows its range. A gateway also takes it as a sign of life while no device is found.
   */
  progress: (percent: number) => void
}

/** A result of a discovery: a device, or the error of a device that could not be read. */
export type DiscoveryResult = { asset: Asset; address?: Address } | { error: LinkError; address?: Address }

export type PropertiesCall = Call & { device: Target; keys: readonly string[] }

/** The values of properties: a value, an error if it could not be read, undefined if the device does not have it. */
export type PropertyValues = Readonly<Record<string, VariantValue | LinkError | undefined>>

export type SupportedProperty = { key: string } & (
  | { type: Exclude<ReturnType<typeof import('@millwright/api/variant.ts').dataTypeOf>, 'unspecified'> }
  | { schemaUri: string }
  | { contentType: string }
)

export type LinkDefinition = {
  manifest: Manifest
  /** Yields each device as soon as it is found. Ends early when `signal` is aborted. */
  discover: (call: DiscoverCall) => AsyncIterable<DiscoveryResult> | Iterable<DiscoveryResult>
  /** Reads properties of one device; all properties without keys. Throws UNAVAILABLE when the device does not respond. */
  properties?: (call: PropertiesCall) => Promise<PropertyValues> | PropertyValues
  /** The supported properties of a device; by default the properties that `properties` returns. */
  supportedProperties?: (
    call: Omit<PropertiesCall, 'keys'>,
  ) => Promise<readonly SupportedProperty[]> | readonly SupportedProperty[]
  /** Installs firmware and other artefacts on a device. */
  update?: Updates
}

/** Defines a link from a manifest and functions. `runLink` runs it as a process. */
export function defineLink(definition: LinkDefinition): LinkDefinition {
  const faults = faultsOf(definition.manifest)
  if (faults.length > 0) throw new Error(`The manifest of the link is invalid. ${faults.join(' ')}`)
  return definition
}
