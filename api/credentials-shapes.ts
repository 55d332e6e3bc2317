import { type Static, Type } from 'typebox'
import { closed, describedPattern, linePattern, Name, Timestamp, Uuid } from './envelope.ts'
import { oneOf } from './inventory/shapes.ts'

export const credentialLimits = {
  /**
   * The maximum number of address ranges of one credential instance. `blocks` is the maximum number of CIDR blocks into
   * which these ranges are split.
   */
  ipRanges: 100,
  blocks: 2_048,
  /** The maximum size of the values of a credential instance, in bytes of JSON text. */
  valueBytes: 64 * 1024,
  valueDepth: 16,
  /** The maximum number of credential instances that are delivered for one address. */
  selected: 3,
  usesPerReport: 500,
  /** The maximum number of instances of a template from which the instances of a product are selected. */
  templateInstances: 1_000,
  /**
   * The time in minutes for which monitoring does not try an instance again at an address that rejected it, unless the instance
   * was changed. Many devices lock an account after a few failed attempts.
   */
  rejectedMinutes: 60,
  /**
   * The maximum number of devices in one request for credentials. `assetsPerSelection` is the maximum number of assets
   * that such a request names for one device.
   */
  devicesPerSelection: 100,
  assetsPerSelection: 100,
  /** The maximum number of instances from which the order of use at an address is computed. The ones that changed last are read. */
  ordered: 1_000,
  /** The maximum number of entries in each list of a usage response. */
  usageEntries: 100,
  /** The maximum number of addresses in a request for the instances that devices refused. */
  refusalAddresses: 50,
  /** The maximum number of instances that such a response contains. */
  refusals: 500,
  /** The maximum number of credentials that are offered for a remote session. The ones that changed last are offered. */
  offered: 100,
} as const

/** The placeholder of a secret in responses. In a request, it means that the stored secret stays unchanged. */
export const secretPlaceholder = '***'

export const credentialPurposes = ['discovery', 'monitoring'] as const
export type CredentialPurpose = (typeof credentialPurposes)[number]

/** A JSON Schema in the form in which it was uploaded. */
const JsonSchema = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Draft 2019-09 or 2020-12. Fields with `writeOnly: true` or `format: password` are secret, at any depth',
})

export const ResourceIdentifier = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: linePattern,
  description: "The link's product_instance_information.manufacturer_product.product_id",
  examples: ['example.cdm.al.reference'],
})
export const ResourceVersion = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: linePattern,
  description: "The link's product_version",
  examples: ['1.2.3'],
})
const SchemaUri = Type.String({
  minLength: 1,
  maxLength: 2_000,
  pattern: describedPattern('^[^\\s\\u0000-\\u001f\\u007f]+$', 'must not contain spaces or control characters'),
  description: 'The name of this schema in the link; it is never fetched',
})

export const NewCredentialSchema = closed({ uri: SchemaUri, schema: JsonSchema })
export const CredentialSchemaChange = closed({ uri: Type.Optional(SchemaUri), schema: Type.Optional(JsonSchema) })

const schemaFields = {
  id: Uuid,
  resourceIdentifier: Type.String(),
  resourceVersion: Type.String(),
  uri: Type.String(),
  title: Type.Optional(Type.String()),
  version: Type.Integer({ minimum: 1 }),
  createdBy: Type.String(),
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
}

/** A schema in a list. The entry does not contain the JSON Schema, which may be large. */
export const ListedCredentialSchema = closed(schemaFields)
export type ListedCredentialSchema = Static<typeof ListedCredentialSchema>

export const CredentialSchema = closed({ ...schemaFields, schema: JsonSchema })
export type CredentialSchema = Static<typeof CredentialSchema>

const IpRange = Type.String({
  minLength: 2,
  maxLength: 100,
  description: 'A CIDR block (10.0.0.0/24), a range (10.0.1.5-10.0.1.9) or a single address, IPv4 or IPv6',
  examples: ['10.0.0.0/24', '10.0.1.5-10.0.1.9', '2001:db8::/32'],
})
const IpRanges = Type.Array(IpRange, {
  minItems: 1,
  maxItems: credentialLimits.ipRanges,
  description: 'The addresses of the instance; it is never sent to other addresses',
})
const Purpose = oneOf(credentialPurposes)

const Values = Type.Record(Type.String(), Type.Unknown(), {
  description: `Values of the schema. Responses never contain secrets: "${secretPlaceholder}" replaces them`,
})

export const NewCredentialInstance = closed({
  schemaId: Uuid,
  name: Name,
  values: Values,
  metadata: closed({ ipRanges: IpRanges, purpose: Type.Optional(Purpose) }),
})
export type NewCredentialInstance = Static<typeof NewCredentialInstance>

export const CredentialInstanceChange = closed({
  name: Type.Optional(Name),
  values: Type.Optional(Values),
  metadata: Type.Optional(
    closed({ ipRanges: Type.Optional(IpRanges), purpose: Type.Optional(Type.Union([Purpose, Type.Null()])) }),
  ),
})
export type CredentialInstanceChange = Static<typeof CredentialInstanceChange>

const instanceFields = {
  id: Uuid,
  schemaId: Uuid,
  schemaUri: Type.String(),
  resourceIdentifier: Type.String(),
  resourceVersion: Type.String(),
  name: Type.String(),
  values: Values,
  metadata: closed({
    ipRanges: Type.Array(Type.String()),
    purpose: Type.Optional(Type.Unsafe<CredentialPurpose>({ ...Purpose, description: 'For both purposes if absent' })),
  }),
  assetId: Type.Optional(Type.Unsafe<string>({ ...Uuid, description: 'For a copy: the asset that it is assigned to' })),
  copiedFrom: Type.Optional(Type.Unsafe<string>({ ...Uuid, description: 'For a copy: its original instance' })),
  version: Type.Integer({ minimum: 1 }),
  createdBy: Type.String(),
  createdTimestamp: Timestamp,
  lastModifiedBy: Type.String(),
  lastModifiedTimestamp: Timestamp,
}

export const CredentialInstance = closed(instanceFields)
export type CredentialInstance = Static<typeof CredentialInstance>

/**
 * The use of a credential instance at a device: gateway, address, asset, and the times of the latest success and the
 * latest failure.
 */
const Association = closed({
  gatewayId: Uuid,
  address: Type.String(),
  assetId: Type.Optional(Uuid),
  lastWorkedTimestamp: Type.Optional(Timestamp),
  lastFailedTimestamp: Type.Optional(Timestamp),
})
export type Association = Static<typeof Association>

/** The results of the logins with a credential instance, at all addresses that the caller can read. */
const LoginResults = closed({
  accepted: Type.Integer({ minimum: 0, description: 'The number of addresses at which the latest login succeeded' }),
  refused: Type.Integer({ minimum: 0, description: 'The number of addresses at which the latest login failed' }),
  refusedWithOther: Type.Integer({
    minimum: 0,
    description:
      'The number of the refusing addresses that accepted the latest login with another instance of the same asset link',
  }),
  lastWorkedTimestamp: Type.Optional(Timestamp),
  lastFailedTimestamp: Type.Optional(Timestamp),
})
export type LoginResults = Static<typeof LoginResults>

/** A credential instance in a list, with the results of its logins. */
export const ListedCredentialInstance = closed({
  ...instanceFields,
  schemaTitle: Type.Optional(Type.String()),
  logins: LoginResults,
  order: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'With the filter `address`: the place of the instance among those of its asset link that a scan tries at this address. It is absent if a scan does not try the instance there',
    }),
  ),
})
export type ListedCredentialInstance = Static<typeof ListedCredentialInstance>

/**
 * A credential instance of an asset: a copy that is assigned to the asset, or an instance that gave access to the asset
 * in a scan.
 */
export const AssetCredentialInstance = closed({
  ...instanceFields,
  assigned: Type.Boolean(),
  associations: Type.Array(Association),
})
export type AssetCredentialInstance = Static<typeof AssetCredentialInstance>

export const CredentialInstanceVersion = closed({
  version: Type.Integer({ minimum: 1 }),
  change: oneOf(['created', 'copied', 'updated', 'mapped']),
  fields: Type.Array(Type.String(), { description: 'The names of the changed fields, never their values' }),
  changedBy: Type.String(),
  timestamp: Timestamp,
})
export type CredentialInstanceVersion = Static<typeof CredentialInstanceVersion>

const count = Type.Integer({ minimum: 0 })

const Refusal = closed({
  ...Association.properties,
  acceptsOther: Type.Boolean({
    description: 'Whether the device accepted the latest login with another instance of the same asset link',
  }),
})

export const CredentialUsage = closed({
  templates: Type.Array(closed({ id: Uuid, name: Type.String() })),
  copies: Type.Array(closed({ instanceId: Uuid, assetId: Uuid })),
  associations: Type.Array(Association),
  refusals: Type.Array(Refusal, { description: 'The devices whose latest login with the instance failed' }),
  deliveries: Type.Array(
    closed({
      gatewayId: Uuid,
      address: Type.String(),
      jobId: Uuid,
      count,
      lastTimestamp: Timestamp,
    }),
  ),
})
export type CredentialUsage = Static<typeof CredentialUsage>

/** A device that refused an instance at the latest login with it. */
export const CredentialRefusal = closed({
  instanceId: Uuid,
  name: Type.String({ description: 'The name of the instance' }),
  gatewayId: Uuid,
  address: Type.String(),
  assetId: Type.Optional(Uuid),
  lastFailedTimestamp: Timestamp,
})
export type CredentialRefusal = Static<typeof CredentialRefusal>

export const NewInstancesTemplate = closed({
  name: Name,
  description: Type.Optional(Type.String({ maxLength: 2_000 })),
})
export const InstancesTemplateChange = closed({
  name: Type.Optional(Name),
  description: Type.Optional(Type.Union([Type.String({ maxLength: 2_000 }), Type.Null()])),
})
export const InstancesTemplate = closed({
  id: Uuid,
  name: Type.String(),
  description: Type.Optional(Type.String()),
  instances: count,
  version: Type.Integer({ minimum: 1 }),
  createdBy: Type.String(),
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
})
export type InstancesTemplate = Static<typeof InstancesTemplate>

const Address = Type.String({ minLength: 2, maxLength: 64 })

/**
 * A request for the credentials of protected devices. Each device has an address and, if known, the assets at this
 * address.
 */
export const CredentialRequest = closed({
  jobId: Uuid,
  gatewayId: Uuid,
  product: closed({ identifier: ResourceIdentifier, version: ResourceVersion }),
  /** Only instances of this template are selected. It is set for monitoring. */
  instancesTemplateId: Type.Optional(Uuid),
  /** Only this instance is selected. It is set for a test of the instance. */
  instanceId: Type.Optional(Uuid),
  devices: Type.Array(
    closed({
      address: Address,
      assetIds: Type.Optional(Type.Array(Uuid, { maxItems: credentialLimits.assetsPerSelection })),
    }),
    { minItems: 1, maxItems: credentialLimits.devicesPerSelection },
  ),
})
export type CredentialRequest = Static<typeof CredentialRequest>

/** A request for one chosen credential, with which a gateway signs in to the device of an asset. */
export const ChosenCredentialRequest = closed({
  jobId: Uuid,
  gatewayId: Uuid,
  instanceId: Uuid,
  assetId: Uuid,
  address: Address,
  isOwnAddress: Type.Boolean({ description: 'Whether the asset was found at this address first' }),
})
export type ChosenCredentialRequest = Static<typeof ChosenCredentialRequest>

/** A device for which a user chooses a credential. */
export const CredentialTarget = closed({
  assetId: ChosenCredentialRequest.properties.assetId,
  address: ChosenCredentialRequest.properties.address,
  isOwnAddress: ChosenCredentialRequest.properties.isOwnAddress,
})
export type CredentialTarget = Static<typeof CredentialTarget>

/** A credential that a user can choose. It contains no values. */
export const OfferedCredential = closed({ id: Uuid, name: Type.String() })
export type OfferedCredential = Static<typeof OfferedCredential>

/** A delivered credential. `credentials` is the JSON text of the values, which is not encrypted. */
export const SelectedCredential = closed({
  instanceId: Uuid,
  name: Type.String(),
  schemaUri: Type.String(),
  credentials: Type.String(),
})
export type SelectedCredential = Static<typeof SelectedCredential>

/** The delivered credentials for one device. */
export const DeviceCredentials = closed({
  known: Type.Boolean({ description: 'One of the credentials opened this device before' }),
  credentials: Type.Array(SelectedCredential, { maxItems: credentialLimits.selected }),
})
export type DeviceCredentials = Static<typeof DeviceCredentials>

export const CredentialUse = closed({
  assetId: Type.Optional(Uuid),
  address: Address,
  instanceId: Uuid,
  worked: Type.Boolean(),
})
export type CredentialUse = Static<typeof CredentialUse>
