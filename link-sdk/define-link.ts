import type { JsonValue, VariantValue } from '@millwright/api/variant.ts'
import type { Credential } from './credential.ts'
import type { Asset } from './device-identifiers.ts'
import type { LinkError } from './link-error.ts'
import type { Log } from './log.ts'
import { faultsOf, type Manifest } from './manifest.ts'
import type { Permits } from './network/permits.ts'
import type { Filter, Options } from './parameters.ts'
import type { Updates } from './update.ts'

/**
 * `Address` is the address of a device. The link defines its fields. Later calls receive the address unchanged, as the
 * discovery returned it.
 */
export type Address = { readonly [field: string]: JsonValue }

/** `Target` is the device that a call refers to. */
export type Target = {
  address: Address
  /** The identifiers of the device in the inventory. A call uses them if the address of the device is not known. */
  identifiers: readonly Address[]
  /** The name of a connection, if the link is configured with named connections. */
  connectionName?: string
  credentials: readonly Credential[]
}

type Call = {
  signal: AbortSignal
  log: Log
  /** The permits of this call. The link takes one before each datagram, connection and request. */
  permits: Permits
  /** The folder in which the link can store files, such as a certificate. It is undefined if the link has no folder. */
  home?: string | undefined
}

export type DiscoverCall = Call & {
  filters: readonly Filter[]
  options: Options
  /** The devices to scan, with their credentials. An empty list means all devices. */
  targets: readonly Target[]
  /**
   * Reports the percentage of the range that has been scanned, from 0 to 100. A link that knows its range can call this
   * function as often as needed. While no device is found, the report also shows the gateway that the link is still
   * running.
   */
  progress: (percent: number) => void
}

/** `DiscoveryResult` is a device, or the error of a device that could not be read. */
export type DiscoveryResult =
  | {
      asset: Asset
      address?: Address
      /**
       * The bytes that name the device in an update. The gateway stores them and sends them with each update. Without
       * them, it sends the address as JSON. They must not contain secrets.
       */
      metadata?: Uint8Array
    }
  | { error: LinkError; address?: Address }

export type PropertiesCall = Call & { device: Target; keys: readonly string[] }

/**
 * `PropertyValues` contains one entry for each property: its value, an error if the property could not be read, or
 * undefined if the device does not have the property.
 */
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
  /**
   * Reads properties of one device. Without keys, all properties are read. Throws UNAVAILABLE when the device does not
   * respond.
   */
  properties?: (call: PropertiesCall) => Promise<PropertyValues> | PropertyValues
  /** Returns the supported properties of a device. By default, these are the properties that `properties` returns. */
  supportedProperties?: (
    call: Omit<PropertiesCall, 'keys'>,
  ) => Promise<readonly SupportedProperty[]> | readonly SupportedProperty[]
  /** Installs firmware and other artefacts on a device. */
  update?: Updates
  /**
   * Returns sentences about the limits of the link on this machine, such as a missing right and the command that grants
   * it. The link works in a reduced way. The sentences are logged when the link starts, and the gateway that started the
   * link shows them to users.
   */
  notices?: () => Promise<readonly string[]> | readonly string[]
}

/** Defines a link by its manifest and its functions. `runLink` runs the link as a process. */
export function defineLink(definition: LinkDefinition): LinkDefinition {
  const faults = faultsOf(definition.manifest)
  if (faults.length > 0) throw new Error(`The manifest of the link is invalid. ${faults.join(' ')}`)
  return definition
}
