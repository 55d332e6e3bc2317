import { type Static, Type } from 'typebox'
import { contract, empty } from './contract.ts'
import { credentialLimits } from './credentials-shapes.ts'
import { closed, data, Timestamp, Uuid } from './envelope.ts'
import { oneOf } from './inventory-shapes.ts'
import { WorkflowJob, workflowLimits } from './workflows.ts'

/** What a gateway says and asks, beside the workflow engine's own southbound operations at the same prefix. */

export const gatekeeperLimits = {
  linksPerGateway: 2_000,
  /** Bytes of a report of links: what they say about their filters and credentials is theirs to say. */
  linkReportBytes: 8 * 1024 * 1024,
  /** Alarms and driver events of one link in one report: the latest. Older ones count as dropped. */
  eventsPerLink: 100,
  /** Alarms and driver events that one report publishes on the event stream; the others follow with the next report. */
  eventsPerReport: 1_000,
  /** The latest alarms and driver events that are stored with a link and returned with it. */
  storedEventsPerLink: 20,
  /** How long the registration of a link is valid at its gateway. */
  registrationSeconds: 900,
  foundPerUpload: 500,
  errorsPerUpload: 1_000,
  /** Well below the time for which a lease lasts. */
  renewalWaitSeconds: 15,
  usesPerUpload: 1_000,
  /** For how many addresses credentials are asked for at once. */
  addressesPerRequest: credentialLimits.devicesPerSelection,
} as const

const text = (maximum: number) => Type.String({ maxLength: maximum })

export const linkDataTypes = [
  'unspecified',
  'boolean',
  'integer',
  'unsigned',
  'number',
  'text',
  'bytes',
  'file',
  'structure',
  'array',
  'null',
] as const

/** A filter or an option that a link understands, as it says itself. */
export const LinkParameter = closed({
  key: text(256),
  dataType: oneOf(linkDataTypes),
  mandatory: Type.Boolean(),
  defaultValue: Type.Optional(Type.Unknown()),
  description: Type.Optional(text(2_000)),
})
export type LinkParameter = Static<typeof LinkParameter>

const linkEventFields = { timestamp: Timestamp, kind: oneOf(['alarm', 'driver'] as const), text: text(1_000) }

/** An alarm or a driver event of a link. */
export const LinkEvent = closed(linkEventFields)
export type LinkEvent = Static<typeof LinkEvent>

/** An event as a gateway reports it: `sequence` counts the events of the link's `eventStream`, from 1. */
export const ReportedLinkEvent = closed({
  ...linkEventFields,
  sequence: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
})
export type ReportedLinkEvent = Static<typeof ReportedLinkEvent>

/** One asset link, as the gateway's registry and the link itself tell it. */
export const LinkReport = closed({
  appInstanceId: Type.String({ minLength: 1, maxLength: 256 }),
  deviceClass: Type.Optional(text(256)),
  vendorPrefix: text(64),
  endpoint: text(300),
  interfaces: Type.Array(text(256), { maxItems: 64 }),
  product: Type.Optional(
    closed({
      vendor: text(256),
      name: text(256),
      description: Type.Optional(text(2_000)),
      version: text(64),
      documentation: Type.Optional(text(2_000)),
    }),
  ),
  filters: Type.Array(LinkParameter, { maxItems: 256 }),
  options: Type.Array(LinkParameter, { maxItems: 256 }),
  credentialSchemas: Type.Array(closed({ uri: text(2_000), schema: text(200_000) }), { maxItems: 16 }),
  state: Type.Union([Type.Literal('running'), Type.Literal('unreachable'), Type.Literal('gone')]),
  problem: Type.Optional(text(1_000)),
  /** The latest registration of the link at the gateway. A gateway with an older version does not report it. */
  registration: Type.Optional(
    closed({
      timestamp: Timestamp,
      expiresInSeconds: Type.Integer({ minimum: 0, maximum: gatekeeperLimits.registrationSeconds }),
    }),
  ),
  /** Its latest alarms and driver events, the latest one last. Only events with a sequence number are published. */
  events: Type.Optional(Type.Array(ReportedLinkEvent, { maxItems: gatekeeperLimits.eventsPerLink })),
  /** Identifies the count of `sequence`. A gateway that starts counting at 1 again takes a new one. */
  eventStream: Type.Optional(Uuid),
})
export type LinkReport = Static<typeof LinkReport>

/** What went wrong with one device: `code` is a number of the shared status codes of asset links. */
export const DeviceError = closed({
  code: Type.Integer(),
  description: text(4_000),
  reason: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'The problem code, when the inventory refused the device: identity_taken',
    }),
  ),
  device: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  /** Which fields of a found device could not be taken over. */
  fields: Type.Optional(Type.Array(closed({ pointer: text(1_000), detail: text(1_000) }), { maxItems: 100 })),
})
export type DeviceError = Static<typeof DeviceError>

const address = Type.String({ minLength: 2, maxLength: 64, description: 'An IPv4 or IPv6 address' })

/** Which credentials were tried at an address, by their id alone. `asset` is the place of what answered in the upload. */
export const CredentialUse = closed({
  asset: Type.Optional(Type.Integer({ minimum: 0, maximum: gatekeeperLimits.foundPerUpload - 1 })),
  address,
  instanceId: Uuid,
  worked: Type.Boolean(),
})
export type CredentialUse = Static<typeof CredentialUse>

/** What is to be tried at one address, in this order. */
export const AddressCredentials = closed({
  address,
  known: Type.Boolean({ description: 'Whether one of them has opened this device before' }),
  credentials: Type.Array(
    closed({
      instanceId: Uuid,
      schemaUri: Type.String(),
      credentials: Type.String({ description: 'JSON text, in clear' }),
    }),
  ),
})
export type AddressCredentials = Static<typeof AddressCredentials>

const Lease = closed({ id: Uuid, expiresTimestamp: Timestamp })

export const gatekeeper = contract({
  name: 'gatekeeper',
  title: 'Gatekeeper',
  description: 'Where gateways ask for work and hand in what they found. A gateway sees and touches only its own.',
  version: '1.0.0',
  prefix: '/gatekeeper/v1',
  operations: {
    leaseJob: {
      method: 'POST',
      path: '/leases',
      summary: 'Take the next job of this gateway, or wait for one',
      waits: true,
      access: 'glb_gateway_work',
      body: data(
        closed({
          workflows: Type.Array(Type.String({ maxLength: workflowLimits.name }), { minItems: 1, maxItems: 16 }),
          waitSeconds: Type.Optional(
            Type.Integer({ minimum: 0, maximum: workflowLimits.waitSeconds, default: workflowLimits.waitSeconds }),
          ),
        }),
      ),
      answers: { 200: data(closed({ job: WorkflowJob, lease: Lease })), 204: empty },
    },
    renewLease: {
      method: 'PUT',
      path: '/leases/{id}',
      summary: 'Keep a job, report its progress, and learn whether it shall be canceled',
      description:
        'With `waitSeconds` the answer comes when that time is over, or at once when the job shall be canceled.',
      waits: true,
      access: 'glb_gateway_work',
      params: closed({ id: Uuid }),
      body: data(
        closed({
          jobId: Uuid,
          progress: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
          message: Type.Optional(text(workflowLimits.message)),
          waitSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: gatekeeperLimits.renewalWaitSeconds })),
        }),
      ),
      answers: { 200: data(closed({ lease: Lease, cancelRequested: Type.Boolean() })) },
      errors: ['not_found', 'lease_lost'],
    },
    endJob: {
      method: 'POST',
      path: '/leases/{id}/end',
      summary: 'The job is done; saying it again changes nothing',
      access: 'glb_gateway_work',
      params: closed({ id: Uuid }),
      body: data(
        closed({
          jobId: Uuid,
          state: Type.Union([Type.Literal('FINISHED'), Type.Literal('FAILED'), Type.Literal('CANCELED')]),
          message: Type.Optional(text(workflowLimits.message)),
          /** What a job that answers a question found out. */
          result: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
        }),
      ),
      answers: { 200: data(closed({ state: Type.String() })) },
      errors: ['not_found', 'lease_lost', 'invalid_transition'],
    },
    uploadFound: {
      method: 'POST',
      path: '/jobs/{id}/found',
      summary: 'Hand in devices that a discovery found, and what went wrong; the same again changes nothing',
      description:
        'The lease is one that the job was held with. It may have run out: what was found while the line was down is not lost.',
      access: 'glb_gateway_work',
      params: closed({ id: Uuid }),
      body: data(
        closed({
          lease: Uuid,
          sequence: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
          assets: Type.Array(Type.Record(Type.String(), Type.Unknown()), { maxItems: gatekeeperLimits.foundPerUpload }),
          errors: Type.Array(DeviceError, { maxItems: gatekeeperLimits.errorsPerUpload }),
          uses: Type.Optional(Type.Array(CredentialUse, { maxItems: gatekeeperLimits.usesPerUpload })),
        }),
      ),
      answers: { 202: data(closed({ accepted: Type.Integer({ minimum: 0 }) })) },
      errors: ['not_found', 'lease_lost'],
    },
    requestCredentials: {
      method: 'POST',
      path: '/jobs/{id}/credentials',
      summary: 'Credentials for protected devices that a job came across, by their address',
      description:
        'For the gateway that holds the job, for the link of the job, while the job runs. Name one `address`, or many `addresses`: each has one result, in their order. A `lease` that is named has to be the current one.',
      access: 'glb_gateway_work',
      answersSecret: true,
      params: closed({ id: Uuid }),
      body: data(
        closed({
          assetLinkId: Type.String({ minLength: 1, maxLength: 256 }),
          address: Type.Optional(address),
          addresses: Type.Optional(
            Type.Array(address, { minItems: 1, maxItems: gatekeeperLimits.addressesPerRequest }),
          ),
          lease: Type.Optional(Uuid),
        }),
      ),
      answers: { 200: data(Type.Array(AddressCredentials)) },
      errors: ['not_found', 'conflict', 'lease_lost'],
    },
    reportLinks: {
      method: 'PUT',
      path: '/links',
      summary: 'Which links are installed on this gateway, and which of them run',
      bodyBytes: gatekeeperLimits.linkReportBytes,
      access: 'glb_gateway_work',
      body: data(
        closed({
          gatewayVersion: text(64),
          links: Type.Array(LinkReport, { maxItems: gatekeeperLimits.linksPerGateway }),
        }),
      ),
      answers: { 200: data(Type.Array(closed({ appInstanceId: text(256), assetId: Uuid }))) },
    },
  },
})
