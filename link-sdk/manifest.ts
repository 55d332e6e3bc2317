import type { linkDataTypes } from '@millwright/api/gatekeeper.ts'
import type { JsonValue } from '@millwright/api/variant.ts'

/** The types that a parameter may have. */
export type ParameterType = Exclude<(typeof linkDataTypes)[number], 'unspecified' | 'file' | 'null'>

/** A filter or an option, as people see it before a discovery. */
export type Parameter = {
  key: string
  type: ParameterType
  description: string
  mandatory?: boolean
  default?: JsonValue
}

/** What a link says about itself, before any device is found. */
export type Manifest = {
  /** The device class: unique among links, and the same in every version. `acme.links.oven`. */
  id: string
  name: string
  vendor: string
  /** Three numbers, and whatever follows them: `1.4.0`, `2.0.0-rc.1`. */
  version: string
  description?: string
  documentation?: string
  feedback?: string
  /** What narrows a discovery down. */
  filters?: readonly Parameter[]
  /** What tunes a discovery. */
  options?: readonly Parameter[]
  /** What protected devices need, as JSON Schema; what is secret in it is `writeOnly`. People fill it in on the platform. */
  credentialSchemas?: readonly { uri: string; schema: object }[]
  /** A square picture in PNG. */
  icon?: Uint8Array
  /** More discoveries than these at the same time are refused with RESOURCE_EXHAUSTED. One, unless said otherwise. */
  discoveriesAtOnce?: number
}

export type Version = { major: number; minor: number; patch: number; suffix: string }

export function parseVersion(text: string): Version | undefined {
  const match = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})([-+].*)?$/.exec(text)
  if (match === null) return undefined
  const [, major, minor, patch, suffix = ''] = match
  return { major: Number(major), minor: Number(minor), patch: Number(patch), suffix }
}

/** What is wrong with a manifest, in sentences; nothing when it is fine. */
export function faultsOf(manifest: Manifest): string[] {
  const parameters = [...(manifest.filters ?? []), ...(manifest.options ?? [])]
  const faults = [
    [/^[\w.-]{1,200}$/.test(manifest.id), `The id "${manifest.id}" consists of letters, digits, dots, _ and - only.`],
    [manifest.name.trim() !== '', 'It has no name.'],
    [manifest.vendor.trim() !== '', 'It has no vendor.'],
    [parseVersion(manifest.version) !== undefined, `The version "${manifest.version}" does not start with 1.2.3.`],
    [parameters.every(({ key }) => key.trim() !== ''), 'A filter or an option has no key.'],
    [isUnique(manifest.filters), 'Two filters have the same key.'],
    [isUnique(manifest.options), 'Two options have the same key.'],
    [areNamed(manifest.credentialSchemas), 'Credential schemas have a URI each, and no two the same.'],
    [(manifest.discoveriesAtOnce ?? 1) >= 1, 'At least one discovery at a time has to be possible.'],
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
