import { type Static, Type } from 'typebox'
import { closed, Name, Timestamp, Uuid } from './envelope.ts'
import { oneOf } from './inventory-shapes.ts'

export const credentialLimits = {
  /** Ranges of one instance, and the blocks of addresses that they come down to. */
  ipRanges: 100,
  blocks: 2_048,
  /** Of the values of an instance, as JSON. */
  valueBytes: 64 * 1024,
  valueDepth: 16,
  /** Instances that are given out for one address: the specification's three. */
  selected: 3,
  usesPerReport: 500,
  /** Devices that one question is about, and assets that may be one of them. */
  devicesPerSelection: 100,
  assetsPerSelection: 100,
  /** Entries of each kind that a where-used answer tells. */
  usageEntries: 100,
} as const

/** What stands in an answer where a secret is; sent back, it means the secret that is there. */
export const secretPlaceholder = '***'

export const credentialPurposes = ['discovery', 'monitoring'] as const
export type CredentialPurpose = (typeof credentialPurposes)[number]

/** A JSON Schema, as it was uploaded. */
const JsonSchema = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Draft 2019-09 or 2020-12. What is `writeOnly: true` or has `format: password`, at any depth, is secret',
})

export const ResourceIdentifier = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: '^[^\\u0000-\\u001f\\u007f]+$',
  description: "The link's product_instance_information.manufacturer_product.product_id",
  examples: ['example.cdm.al.reference'],
})
export const ResourceVersion = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[^\\u0000-\\u001f\\u007f]+$',
  description: "The link's product_version",
  examples: ['1.2.3'],
})
const SchemaUri = Type.String({
  minLength: 1,
  maxLength: 2_000,
  pattern: '^[^\\s\\u0000-\\u001f\\u007f]+$',
  description: 'The name under which the link knows this schema; nothing is fetched from there',
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

/** A schema in a list: without the schema itself, which may be large. */
export const ListedCredentialSchema = closed(schemaFields)
export type ListedCredentialSchema = Static<typeof ListedCredentialSchema>

export const CredentialSchema = closed({ ...schemaFields, schema: JsonSchema })
export type CredentialSchema = Static<typeof CredentialSchema>

const IpRange = Type.String({
  minLength: 2,
  maxLength: 100,
  description: 'A block (10.0.0.0/24), from–to (10.0.1.5-10.0.1.9) or one address, IPv4 or IPv6',
  examples: ['10.0.0.0/24', '10.0.1.5-10.0.1.9', '2001:db8::/32'],
})
const IpRanges = Type.Array(IpRange, {
  minItems: 1,
  maxItems: credentialLimits.ipRanges,
  description: 'Where the instance applies; it is never sent anywhere else',
})
const Purpose = oneOf(credentialPurposes)

const Values = Type.Record(Type.String(), Type.Unknown(), {
  description: `As the schema says. Secrets are never answered: "${secretPlaceholder}" stands in their place`,
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
    purpose: Type.Optional(Type.Unsafe<CredentialPurpose>({ ...Purpose, description: 'Both when absent' })),
  }),
  assetId: Type.Optional(Type.Unsafe<string>({ ...Uuid, description: 'Of a copy: the asset that it is assigned to' })),
  copiedFrom: Type.Optional(Type.Unsafe<string>({ ...Uuid, description: 'Of a copy: the instance it was made from' })),
  version: Type.Integer({ minimum: 1 }),
  createdBy: Type.String(),
  createdTimestamp: Timestamp,
  lastModifiedBy: Type.String(),
  lastModifiedTimestamp: Timestamp,
}

export const CredentialInstance = closed(instanceFields)
export type CredentialInstance = Static<typeof CredentialInstance>

/** That an instance opened a device: which gateway used it, at which address, when. */
const Association = closed({
  gatewayId: Uuid,
  address: Type.String(),
  assetId: Type.Optional(Uuid),
  lastWorkedTimestamp: Type.Optional(Timestamp),
  lastFailedTimestamp: Type.Optional(Timestamp),
})
export type Association = Static<typeof Association>

/** An instance of an asset: a copy that is assigned to it, or one that opened it in a scan. */
export const AssetCredentialInstance = closed({
  ...instanceFields,
  assigned: Type.Boolean(),
  associations: Type.Array(Association),
})
export type AssetCredentialInstance = Static<typeof AssetCredentialInstance>

export const CredentialInstanceVersion = closed({
  version: Type.Integer({ minimum: 1 }),
  change: oneOf(['created', 'copied', 'updated', 'mapped']),
  fields: Type.Array(Type.String(), { description: 'Which fields changed, by name; never what they held' }),
  changedBy: Type.String(),
  timestamp: Timestamp,
})
export type CredentialInstanceVersion = Static<typeof CredentialInstanceVersion>

const count = Type.Integer({ minimum: 0 })

export const CredentialUsage = closed({
  templates: Type.Array(closed({ id: Uuid, name: Type.String() })),
  copies: Type.Array(closed({ instanceId: Uuid, assetId: Uuid })),
  associations: Type.Array(Association),
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

/** What is asked when a job of a gateway came across protected devices, and which assets are known to be there. */
export const CredentialQuestion = closed({
  jobId: Uuid,
  gatewayId: Uuid,
  product: closed({ identifier: ResourceIdentifier, version: ResourceVersion }),
  devices: Type.Array(
    closed({
      address: Address,
      assetIds: Type.Optional(Type.Array(Uuid, { maxItems: credentialLimits.assetsPerSelection })),
    }),
    { minItems: 1, maxItems: credentialLimits.devicesPerSelection },
  ),
})
export type CredentialQuestion = Static<typeof CredentialQuestion>

/** What a gateway is given. `credentials` is the JSON text of the values, in clear. */
export const SelectedCredential = closed({
  instanceId: Uuid,
  name: Type.String(),
  schemaUri: Type.String(),
  credentials: Type.String(),
})
export type SelectedCredential = Static<typeof SelectedCredential>

/** What a gateway is given for one device. */
export const DeviceCredentials = closed({
  known: Type.Boolean({ description: 'One of them has opened this device before' }),
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
