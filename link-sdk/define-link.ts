import type { JsonValue, VariantValue } from '@millwright/api/variant.ts'
import type { Credential } from './credential.ts'
import type { Asset } from './device-identifiers.ts'
import type { LinkError } from './link-error.ts'
import type { Log } from './log.ts'
import { faultsOf, type Manifest } from './manifest.ts'
import type { Filter, Options } from './parameters.ts'
import type { Updates } from './update.ts'

/** Where a device is, in words of the link: whatever it put into `address` when it found the device. */
export type Address = { readonly [field: string]: JsonValue }

/** A device that a call is about. */
export type Target = {
  address: Address
  /** What the inventory knows the device by, where the caller knows no address. */
  identifiers: readonly Address[]
  /** The name of a connection, where the link was configured with named ones. */
  connectionName?: string
  credentials: readonly Credential[]
}

type Call = { signal: AbortSignal; log: Log }

export type DiscoverCall = Call & {
  filters: readonly Filter[]
  options: Options
  /** None: look everywhere. Else these devices, with the credentials that are known for them. */
  targets: readonly Target[]
  /**
   * Reports the percentage of the range that has been scanned, from 0 to 100. Call it as often as you like, where the link
   * knows its range. A gateway also takes it as a sign of life while no device is found.
   */
  progress: (percent: number) => void
}

/** A device that was found, or one that could not be read. */
export type Found = { asset: Asset; address?: Address } | { error: LinkError; address?: Address }

export type PropertiesCall = Call & { device: Target; keys: readonly string[] }

/** A property's value; an error where it could not be read, nothing where the device does not have it. */
export type PropertyValues = Readonly<Record<string, VariantValue | LinkError | undefined>>

export type SupportedProperty = { key: string } & (
  | { type: Exclude<ReturnType<typeof import('@millwright/api/variant.ts').dataTypeOf>, 'unspecified'> }
  | { schemaUri: string }
  | { contentType: string }
)

export type LinkDefinition = {
  manifest: Manifest
  /** Yields each device as soon as it is known. Ends early when `signal` says so. */
  discover: (call: DiscoverCall) => AsyncIterable<Found> | Iterable<Found>
  /** Reads properties from one device; all when no key is given. Throws UNAVAILABLE when the device does not answer. */
  properties?: (call: PropertiesCall) => Promise<PropertyValues> | PropertyValues
  /** What a device can be asked for; without it, whatever `properties` returns. */
  supportedProperties?: (
    call: Omit<PropertiesCall, 'keys'>,
  ) => Promise<readonly SupportedProperty[]> | readonly SupportedProperty[]
  /** Brings firmware and other artefacts to a device. */
  update?: Updates
}

/** A whole link: a manifest and plain functions. `runLink` makes a process of it. */
export function defineLink(definition: LinkDefinition): LinkDefinition {
  const faults = faultsOf(definition.manifest)
  if (faults.length > 0) throw new Error(`The manifest of the link is wrong. ${faults.join(' ')}`)
  return definition
}
