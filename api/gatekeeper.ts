import { type Static, Type } from 'typebox'
import { contract, empty } from './contract.ts'
import { credentialLimits } from './credentials-shapes.ts'
import { closed, data, Timestamp, Uuid } from './envelope.ts'
import { oneOf } from './inventory/shapes.ts'
import { MonitoredDevice, MonitoringTarget, monitoringLimits } from './monitoring-shapes.ts'
import { GatewayHost } from './onboarding.ts'
import { receiptLimits, SignedReceipt } from './receipt.ts'
import { mostSentFunctions, SentFunction } from './sent-function.ts'
import { LeasedJob, workflowLimits } from './workflows.ts'

/**
 * Operations for gateways. The operations for jobs that gateways use have the same prefix and are in `workflows.ts`.
 */

export const gatekeeperLimits = {
  linksPerGateway: 2_000,
  /** The maximum size of a report of links in bytes, including their filters and credential schemas. */
  linkReportBytes: 8 * 1024 * 1024,
  /**
   * The maximum number of alarms and driver events of one link in one report. If a link has more, the report contains
   * the latest ones, and the older ones count as dropped.
   */
  eventsPerLink: 100,
  /**
   * The maximum number of alarms and driver events that one report publishes on the event stream. Events above this
   * number are published with the next report.
   */
  eventsPerReport: 1_000,
  /** The number of latest alarms and driver events that are stored with a link and returned with it. */
  storedEventsPerLink: 20,
  /** The maximum number of links that a gateway can run as its child processes. */
  managedLinks: 64,
  /** The maximum length of the problem of a link and of a notice. */
  linkProblem: 1_000,
  noticesPerLink: 16,
  /** The number of latest log lines of a managed link in a report. */
  logLinesPerLink: 20,
  /** The time for which the registration of a link is valid at its gateway. */
  registrationSeconds: 900,
  foundPerUpload: 500,
  errorsPerUpload: 1_000,
  /**
   * The maximum time for which a request to renew a lease can wait. It is much shorter than the duration of a lease.
   */
  renewalWaitSeconds: 15,
  /** The maximum number of jobs in a request for the next job that the agent still works on. */
  activeJobs: 256,
  /** The maximum length of the phase in a renewal. */
  phase: 64,
  usesPerUpload: 1_000,
  /** The maximum size of a request with a receipt in bytes: the receipt, and the rest of the request. */
  receiptUploadBytes: receiptLimits.bytes + 4 * 1024,
  /** The maximum number of addresses in one request for credentials. */
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

/** A filter or option that a link declares. */
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

/**
 * An event in the form in which a gateway reports it. `sequence` numbers the events of the link's `eventStream`, starting
 * at 1.
 */
export const ReportedLinkEvent = closed({
  ...linkEventFields,
  sequence: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
})
export type ReportedLinkEvent = Static<typeof ReportedLinkEvent>

/** An asset link, as the registry of the gateway and the link itself report it. */
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
  /** The functions that the link sends to devices. Links without a budget do not list them. */
  sends: Type.Optional(Type.Array(SentFunction, { maxItems: mostSentFunctions })),
  state: Type.Union([Type.Literal('running'), Type.Literal('unreachable'), Type.Literal('gone')]),
  problem: Type.Optional(text(1_000)),
  /** The latest registration of the link at the gateway. Older versions of the gateway do not report it. */
  registration: Type.Optional(
    closed({
      timestamp: Timestamp,
      expiresInSeconds: Type.Integer({ minimum: 0, maximum: gatekeeperLimits.registrationSeconds }),
    }),
  ),
  /**
   * The latest alarms and driver events of the link, in ascending order. Only events with a sequence number are published.
   */
  events: Type.Optional(Type.Array(ReportedLinkEvent, { maxItems: gatekeeperLimits.eventsPerLink })),
  /** The id of the event stream in which `sequence` counts. A gateway that starts to count at 1 again uses a new id. */
  eventStream: Type.Optional(Uuid),
})
export type LinkReport = Static<typeof LinkReport>

const managedLinkStates = ['starting', 'running', 'stopped', 'failed'] as const

/** A built-in link that the gateway can run as a child process. */
export const ManagedLink = closed({
  name: Type.String({ minLength: 1, maxLength: 64 }),
  appInstanceId: Type.String({ maxLength: 256, description: 'The id of the asset link while it runs' }),
  enabled: Type.Boolean({ description: 'Whether the gateway runs the link' }),
  state: Type.Unsafe<(typeof managedLinkStates)[number]>({
    ...oneOf(managedLinkStates),
    description: 'A failed link starts again after a pause',
  }),
  restarts: Type.Integer({ minimum: 0, description: 'Unexpected ends since the link was enabled' }),
  endpoint: Type.Optional(text(300)),
  problem: Type.Optional(
    Type.String({ maxLength: gatekeeperLimits.linkProblem, description: 'The reason of the last unexpected end' }),
  ),
  notices: Type.Optional(
    Type.Array(text(gatekeeperLimits.linkProblem), {
      maxItems: gatekeeperLimits.noticesPerLink,
      description: 'Limits of the link on the machine of the gateway, such as missing rights',
    }),
  ),
  log: Type.Optional(
    Type.Array(text(2_000), { maxItems: gatekeeperLimits.logLinesPerLink, description: 'The latest lines, in order' }),
  ),
})
export type ManagedLink = Static<typeof ManagedLink>

/** The built-in links of a gateway. Older versions of the gateway do not report them. */
export const ManagedLinks = Type.Array(ManagedLink, { maxItems: gatekeeperLimits.managedLinks })

/** The error of one device. `code` is a status code of the link protocol. */
export const DeviceError = closed({
  code: Type.Integer(),
  description: text(4_000),
  reason: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'The problem code if the inventory refused the device: identity_taken',
    }),
  ),
  device: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  /** The invalid fields of the device. */
  fields: Type.Optional(Type.Array(closed({ pointer: text(1_000), detail: text(1_000) }), { maxItems: 100 })),
})
export type DeviceError = Static<typeof DeviceError>

const address = Type.String({ minLength: 2, maxLength: 64, description: 'An IPv4 or IPv6 address' })

/**
 * A credential instance that was tried at an address. If it gave access to a device, `asset` is the index of this
 * device in the upload.
 */
export const CredentialUse = closed({
  asset: Type.Optional(Type.Integer({ minimum: 0, maximum: gatekeeperLimits.foundPerUpload - 1 })),
  address,
  instanceId: Uuid,
  worked: Type.Boolean(),
})
export type CredentialUse = Static<typeof CredentialUse>

/**
 * The IP address at which a link found a device, from the connection that the link reports. `asset` is the index of the
 * device in the upload.
 */
export const DeviceAddress = closed({
  asset: Type.Integer({ minimum: 0, maximum: gatekeeperLimits.foundPerUpload - 1 }),
  address,
})
export type DeviceAddress = Static<typeof DeviceAddress>

/** The addresses of the devices in an upload. Older versions of the gateway do not send them. */
export const DeviceAddresses = Type.Array(DeviceAddress, { maxItems: gatekeeperLimits.foundPerUpload })

/**
 * The optional fields of an upload that this version of the platform accepts. The definition of a discovery job names
 * them in `accepts`, because older versions of the platform refuse uploads with these fields.
 */
export const uploadFeatures = ['deviceAddresses'] as const

/** The credentials to try at one address, in this order. */
export const AddressCredentials = closed({
  address,
  known: Type.Boolean({ description: 'Whether one of the credentials opened this device before' }),
  credentials: Type.Array(
    closed({
      instanceId: Uuid,
      schemaUri: Type.String(),
      credentials: Type.String({ description: 'JSON text, not encrypted' }),
    }),
  ),
})
export type AddressCredentials = Static<typeof AddressCredentials>

/** The credential of a remote session. */
export const SessionCredential = closed({
  instanceId: Uuid,
  schemaUri: Type.String(),
  credentials: Type.String({ description: 'JSON text, not encrypted' }),
})
export type SessionCredential = Static<typeof SessionCredential>

const Lease = closed({ id: Uuid, expiresTimestamp: Timestamp })

export const gatekeeper = contract({
  name: 'gatekeeper',
  title: 'Gatekeeper',
  description: 'Leases, uploads and credentials for gateways. A gateway has access only to its own jobs.',
  version: '1.0.0',
  prefix: '/gatekeeper/v1',
  operations: {
    leaseJob: {
      method: 'POST',
      path: '/leases',
      summary: 'Lease the next job of this gateway, or wait for one',
      waits: true,
      access: 'glb_gateway_work',
      body: data(
        closed({
          workflows: Type.Array(Type.String({ maxLength: workflowLimits.name }), { minItems: 1, maxItems: 16 }),
          waitSeconds: Type.Optional(
            Type.Integer({ minimum: 0, maximum: workflowLimits.waitSeconds, default: workflowLimits.waitSeconds }),
          ),
          activeJobs: Type.Optional(
            Type.Array(Uuid, {
              maxItems: gatekeeperLimits.activeJobs,
              description:
                'The jobs that the caller still works on. If the lease of such a job has expired and the response contains the job, the caller continues its work under the new lease, so the progress and the errors of the job stay',
            }),
          ),
        }),
      ),
      answers: { 200: data(LeasedJob), 204: empty },
    },
    renewLease: {
      method: 'PUT',
      path: '/leases/{id}',
      summary: 'Renew a lease, report progress, and get the cancel request of the job',
      description: 'With `waitSeconds`, the response is sent after that time, or immediately when the job is canceled.',
      waits: true,
      access: 'glb_gateway_work',
      params: closed({ id: Uuid }),
      body: data(
        closed({
          jobId: Uuid,
          progress: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
          message: Type.Optional(text(workflowLimits.message)),
          phase: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: gatekeeperLimits.phase,
              description: 'The part of the state in which the gateway is, such as `downloading` or `transferring`',
            }),
          ),
          waitSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: gatekeeperLimits.renewalWaitSeconds })),
        }),
      ),
      answers: { 200: data(closed({ lease: Lease, cancelRequested: Type.Boolean() })) },
      errors: ['not_found', 'lease_lost'],
    },
    advanceJob: {
      method: 'POST',
      path: '/leases/{id}/advance',
      summary: 'Move a job to another state; repeating the request has no effect',
      description:
        'For workflows with several states, such as `artefact-update`. The lease stays valid while the client has a transition from the new state. If the platform has already moved the job from the requested state, or requests the cancellation of the job, the response contains the current state.',
      access: 'glb_gateway_work',
      params: closed({ id: Uuid }),
      body: data(
        closed({
          jobId: Uuid,
          state: Type.String({ minLength: 1, maxLength: workflowLimits.name }),
          message: Type.Optional(text(workflowLimits.message)),
          progress: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
          result: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
        }),
      ),
      answers: { 200: data(closed({ state: Type.String() })) },
      errors: ['not_found', 'lease_lost', 'invalid_transition'],
    },
    endJob: {
      method: 'POST',
      path: '/leases/{id}/end',
      summary: 'End a job; repeating the request has no effect',
      access: 'glb_gateway_work',
      params: closed({ id: Uuid }),
      body: data(
        closed({
          jobId: Uuid,
          state: Type.Union([Type.Literal('FINISHED'), Type.Literal('FAILED'), Type.Literal('CANCELED')]),
          message: Type.Optional(text(workflowLimits.message)),
          /** The result of a job that reads properties. */
          result: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
        }),
      ),
      answers: { 200: data(closed({ state: Type.String() })) },
      errors: ['not_found', 'lease_lost', 'invalid_transition'],
    },
    uploadFound: {
      method: 'POST',
      path: '/jobs/{id}/found',
      summary: 'Upload found devices and errors of a discovery; repeating the request has no effect',
      description:
        'The request names a lease of the job. The lease can be expired, so findings that a connection loss delayed are accepted.',
      access: 'glb_gateway_work',
      params: closed({ id: Uuid }),
      body: data(
        closed({
          lease: Uuid,
          sequence: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
          assets: Type.Array(Type.Record(Type.String(), Type.Unknown()), { maxItems: gatekeeperLimits.foundPerUpload }),
          errors: Type.Array(DeviceError, { maxItems: gatekeeperLimits.errorsPerUpload }),
          uses: Type.Optional(Type.Array(CredentialUse, { maxItems: gatekeeperLimits.usesPerUpload })),
          deviceAddresses: Type.Optional(DeviceAddresses),
        }),
      ),
      answers: { 202: data(closed({ accepted: Type.Integer({ minimum: 0 }) })) },
      errors: ['not_found', 'lease_lost'],
    },
    uploadReceipt: {
      method: 'POST',
      path: '/jobs/{id}/receipt',
      summary: 'Upload the receipt of a discovery before its end; repeating the request has no effect',
      description: `The receipt is signed with the key of this gateway, and names the gateway, the discovery and the run of the job. The request names a lease of the job, which can be expired. A lease has one receipt; another receipt for the same lease is refused, and so is a receipt more than ${receiptLimits.daysAfterRun} days after the end of the run. If the job was deleted, the run of the receipt is used.`,
      bodyBytes: gatekeeperLimits.receiptUploadBytes,
      access: 'glb_gateway_work',
      params: closed({ id: Uuid }),
      body: data(closed({ lease: Uuid, receipt: SignedReceipt })),
      answers: { 204: empty },
      errors: ['not_found', 'lease_lost', 'invalid_receipt', 'conflict'],
    },
    listMonitoringTargets: {
      method: 'POST',
      path: '/jobs/{id}/monitoring-targets',
      summary: 'Get the next devices of a monitoring job that have no result, in order of their assets',
      description: 'The list is empty if all devices have a result, or the run has ended. `lease` is the current one.',
      access: 'glb_gateway_work',
      readOnly: true,
      params: closed({ id: Uuid }),
      body: data(
        closed({
          lease: Uuid,
          after: Type.Optional(
            Type.Unsafe<string>({ ...Uuid, description: 'The asset of the last target of the previous page' }),
          ),
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: monitoringLimits.targetsPerPage })),
        }),
      ),
      answers: { 200: data(Type.Array(MonitoringTarget)) },
      errors: ['not_found', 'lease_lost'],
    },
    uploadMonitoringResults: {
      method: 'POST',
      path: '/jobs/{id}/monitoring-results',
      summary: 'Upload results of a monitoring job; repeating the request has no effect',
      description: '`lease` is the current one.',
      bodyBytes: monitoringLimits.resultBytes,
      access: 'glb_gateway_work',
      params: closed({ id: Uuid }),
      body: data(
        closed({
          lease: Uuid,
          results: Type.Array(MonitoredDevice, { minItems: 1, maxItems: monitoringLimits.targetsPerPage }),
        }),
      ),
      answers: { 200: data(closed({ isOpen: Type.Boolean({ description: 'False if the run has ended' }) })) },
      errors: ['not_found', 'lease_lost'],
    },
    requestCredentials: {
      method: 'POST',
      path: '/jobs/{id}/credentials',
      summary: 'Get credentials for the protected devices of a job, by address',
      description:
        'Only for the gateway that holds the job, for the link of the job, while the job runs. Send one `address` or several `addresses`; the response has one result for each, in the same order. If `lease` is sent, it must be the current one.',
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
    requestSessionCredentials: {
      method: 'POST',
      path: '/remote-sessions/{id}/credentials',
      summary: 'Get the credential that the user of a remote session chose',
      description:
        'Only for the gateway of an open `ssh` session. The response is null if the user chose no credential, or if the credential is no longer allowed for the device.',
      access: 'glb_gateway_work',
      answersSecret: true,
      params: closed({ id: Uuid }),
      answers: { 200: data(Type.Union([Type.Null(), SessionCredential])) },
      errors: ['not_found', 'conflict', 'gateway_not_ready'],
    },
    reportLinks: {
      method: 'PUT',
      path: '/links',
      summary: 'Report the installed links of this gateway and their state',
      bodyBytes: gatekeeperLimits.linkReportBytes,
      access: 'glb_gateway_work',
      body: data(
        closed({
          gatewayVersion: text(64),
          host: Type.Optional(GatewayHost),
          links: Type.Array(LinkReport, { maxItems: gatekeeperLimits.linksPerGateway }),
          managedLinks: Type.Optional(ManagedLinks),
        }),
      ),
      answers: { 200: data(Type.Array(closed({ appInstanceId: text(256), assetId: Uuid }))) },
    },
  },
})
