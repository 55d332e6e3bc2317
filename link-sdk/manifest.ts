import type { linkDataTypes } from '@millwright/api/gatekeeper.ts'
import type { SentFunction } from '@millwright/api/sent-function.ts'
import type { JsonValue } from '@millwright/api/variant.ts'

/** `ParameterType` is a type that a parameter may have. */
export type ParameterType = Exclude<(typeof linkDataTypes)[number], 'unspecified' | 'file' | 'null'>

/** `Parameter` is a filter or an option of a discovery. Its description is shown to users. */
export type Parameter = {
  key: string
  type: ParameterType
  description: string
  mandatory?: boolean
  default?: JsonValue
}

/** `Manifest` describes a link. */
export type Manifest = {
  /**
   * The device class, for example `acme.links.oven`. It is unique among all links, and does not change between
   * versions.
   */
  id: string
  name: string
  vendor: string
  /** The version: three numbers and an optional suffix, for example `1.4.0` or `2.0.0-rc.1`. */
  version: string
  description?: string
  documentation?: string
  feedback?: string
  /** The filters. They limit the scope of a discovery. */
  filters?: readonly Parameter[]
  /** The options. They control how a discovery runs. */
  options?: readonly Parameter[]
  /**
   * The JSON Schemas for the credentials of protected devices. Secret fields are `writeOnly`. Users enter the values of
   * the fields on the platform.
   */
  credentialSchemas?: readonly { uri: string; schema: object }[]
  /**
   * The functions that the link sends to devices. A link with this table takes a permit for everything that it sends, so
   * the budget of the gateway applies to it. A link that sends nothing has an empty table. Without the table, the link is
   * shown as not budgeted.
   */
  sends?: readonly SentFunction[]
  /** The icon, a square PNG image. */
  icon?: Uint8Array
  /**
   * The maximum number of concurrent discoveries, by default one. Further discoveries are rejected with
   * RESOURCE_EXHAUSTED.
   */
  discoveriesAtOnce?: number
}

export type Version = { major: number; minor: number; patch: number; suffix: string }

export function parseVersion(text: string): Version | undefined {
  const match = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})([-+].*)?$/.exec(text)
  if (match === null) return undefined
  const [, major, minor, patch, suffix = ''] = match
  return { major: Number(major), minor: Number(minor), patch: Number(patch), suffix }
}

/** Returns the faults of a manifest as sentences. The list is empty when the manifest is valid. */
export function faultsOf(manifest: Manifest): string[] {
  const parameters = [...(manifest.filters ?? []), ...(manifest.options ?? [])]
  const faults = [
    [/^[\w.-]{1,200}$/.test(manifest.id), `The id "${manifest.id}" may contain only letters, digits, dots, _ and -.`],
    [manifest.name.trim() !== '', 'The link has no name.'],
    [manifest.vendor.trim() !== '', 'The link has no vendor.'],
    [
      parseVersion(manifest.version) !== undefined,
      `The version "${manifest.version}" does not start with three numbers such as 1.2.3.`,
    ],
    [parameters.every(({ key }) => key.trim() !== ''), 'A filter or an option has no key.'],
    [isUnique(manifest.filters), 'Two filters have the same key.'],
    [isUnique(manifest.options), 'Two options have the same key.'],
    [areNamed(manifest.credentialSchemas), 'Each credential schema needs a unique URI.'],
    [(manifest.discoveriesAtOnce ?? 1) >= 1, 'discoveriesAtOnce must be at least 1.'],
  ] as const
  return faults.filter(([holds]) => !holds).map(([, sentence]) => sentence)
}

function isUnique(parameters: readonly Parameter[] = []): boolean {
  return new Set(parameters.map(({ key }) => key)).size === parameters.length
}

function areNamed(schemas: Manifest['credentialSchemas'] = []): boolean {
  const uris = schemas.map(({ uri }) => uri.trim())
  return uris.every((uri) => uri !== '') && new Set(uris).size === uris.length
}
