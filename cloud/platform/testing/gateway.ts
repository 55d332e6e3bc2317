import { createHash, KeyObject, randomUUID } from 'node:crypto'
import { client, requestFor, type Transport } from '@millwright/api/client.ts'
import { discovery } from '@millwright/api/discovery.ts'
import {
  type DeviceAddress,
  type DeviceError,
  gatekeeper,
  type LinkReport,
  type ManagedLink,
} from '@millwright/api/gatekeeper.ts'
import type { GatewayKey } from '@millwright/api/onboarding.ts'
import type { SignedReceipt } from '@millwright/api/receipt.ts'
import { keyThumbprint, signReceipt } from '@millwright/api/receipt-signature.ts'
import { defaultBudget } from '@millwright/api/scan-budget.ts'
import { type WorkflowJob, workflows } from '@millwright/api/workflows.ts'
import { CompactSign, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { type RawAnswer, type RawRequest, type RequestTarget, sentBody, type TestCaller, type TestHub } from './hub.ts'

/** Returns the platform at an address. */
export function platformOver(baseUrl: string): RequestTarget {
  return {
    context: { settings: { baseUrl } },
    async request({ method, path, headers = {}, body }) {
      const sent = body === undefined ? null : await sentBody(body)
      const response = await fetch(baseUrl + path, { method, headers, body: sent, redirect: 'manual' })
      const bytes = Buffer.from(await response.arrayBuffer())
      const text = bytes.toString()
      const isJson = response.headers.get('content-type')?.includes('json') === true
      const { status, headers: received } = response
      return { status, headers: received, text, bytes, body: isJson ? JSON.parse(text) : undefined }
    },
  }
}

type Key = { privateKey: CryptoKey; publicKey: JWK }

export async function newKey(): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const { kty, crv, x, y } = await exportJWK(publicKey)
  return { privateKey, publicKey: { kty: kty ?? 'EC', crv: crv ?? '', x: x ?? '', y: y ?? '' } as JWK }
}

/** Creates the input of `enrol` for a gateway with its own key. */
export async function enrolment(
  { gatewayId, enrolmentToken }: { gatewayId: string; enrolmentToken: string },
  { privateKey, publicKey }: Key,
) {
  const said = JSON.stringify({ gatewayId, enrolmentToken, iat: Math.floor(Date.now() / 1000) })
  const proof = await new CompactSign(new TextEncoder().encode(said))
    .setProtectedHeader({ alg: 'ES256' })
    .sign(privateKey)
  return { gatewayId, enrolmentToken, publicKey: publicKey as never, proof, version: '1.0.0' }
}

export async function assertionOf(
  hub: RequestTarget,
  { clientId, key }: { clientId: string; key: Key },
): Promise<string> {
  return new SignJWT({})
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(`${hub.context.settings.baseUrl}/oauth/token`)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime('1m')
    .sign(key.privateKey)
}

export async function requestToken(hub: RequestTarget, client_assertion: string): Promise<RawAnswer> {
  return hub.request({
    method: 'POST',
    path: '/oauth/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion,
    }).toString(),
  })
}

type Proved = { method: string; path: string; token: string; key: Key }

/** Creates a proof for one request. `changes` replace claims, to make the proof invalid. */
export async function proofFor(
  hub: RequestTarget,
  proved: Proved,
  changes: Record<string, unknown> = {},
): Promise<string> {
  const { method, path, token, key } = proved
  const claims = {
    htm: method,
    htu: hub.context.settings.baseUrl + (path.split('?')[0] ?? ''),
    ath: createHash('sha256').update(token).digest('base64url'),
    jti: randomUUID(),
    iat: Math.floor(Date.now() / 1000),
    ...changes,
  }
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: key.publicKey })
    .sign(key.privateKey)
}

export type TestGateway = Awaited<ReturnType<typeof enrolledGateway>>

type GatewayOptions = { name?: string; access_group?: string }

/**
 * Enrols a gateway through the front. The gateway has its own key, and signs a proof for every request
 * with it.
 */
export async function enrolledGateway(
  hub: RequestTarget,
  admin: Pick<TestCaller, 'onboarding'>,
  options: GatewayOptions = {},
) {
  const { name = 'line 1', ...group } = options
  const { data: gateway } = await admin.onboarding.createGateway({ body: { data: { name, ...group } } })
  const config = await admin.onboarding.createGatewayConfig({ params: { id: gateway.id } })
  const key = await newKey()
  const { body } = await hub.request({
    method: 'POST',
    path: '/onboarding/v1/enrol',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ data: await enrolment(config, key) }),
  })
  const { clientId } = (body as { data: { clientId: string } }).data
  const granted = await requestToken(hub, await assertionOf(hub, { clientId, key }))
  const { access_token: token } = granted.body as { access_token: string }
  const send = async (request: RawRequest): Promise<RawAnswer> => {
    const dpop = await proofFor(hub, { method: request.method, path: request.path, token, key })
    return hub.request({ ...request, headers: { authorization: `Bearer ${token}`, dpop, ...request.headers } })
  }
  const transport: Transport = async (contract, operationName, input) => {
    const operation = contract.operations[operationName]
    if (operation === undefined) throw new TypeError(`${contract.name} has no operation ${operationName}`)
    return send(requestFor(contract, operation, input))
  }
  return {
    id: gateway.id,
    clientId,
    key,
    token,
    send,
    exchange: transport,
    gatekeeper: client(gatekeeper, transport),
    workflows: client(workflows, transport),
    discovery: client(discovery, transport),
  }
}

/** Leases the job of a discovery for the gateway. */
export async function leaseDiscovery({ gatekeeper }: Pick<TestGateway, 'gatekeeper'>) {
  const taken = await gatekeeper.leaseJob({ body: { data: { workflows: ['discovery'], waitSeconds: 30 } } })
  if (taken === undefined) throw new Error('The gateway got no job')
  return taken.data
}

export type LeasedDiscovery = Awaited<ReturnType<typeof leaseDiscovery>>

/** Uploads the devices that a discovery found, as one upload. */
export async function uploadDevices(
  { gatekeeper }: Pick<TestGateway, 'gatekeeper'>,
  { job, lease }: LeasedDiscovery,
  {
    assets = [],
    errors = [],
    deviceAddresses = [],
    sequence = 0,
  }: {
    assets?: Record<string, unknown>[]
    errors?: DeviceError[]
    deviceAddresses?: DeviceAddress[]
    sequence?: number
  },
): Promise<void> {
  const data = { lease: lease.id, sequence, assets, errors, deviceAddresses }
  await gatekeeper.uploadFound({ params: { id: job.id }, body: { data } })
}

/** Ends the job of a discovery, as the gateway does after its scan. */
export async function endDiscoveryJob(
  { gatekeeper }: Pick<TestGateway, 'gatekeeper'>,
  { job, lease }: LeasedDiscovery,
  { state = 'FINISHED', ...more }: { state?: 'FINISHED' | 'FAILED' | 'CANCELED'; message?: string } = {},
): Promise<void> {
  await gatekeeper.endJob({ params: { id: lease.id }, body: { data: { jobId: job.id, state, ...more } } })
}

/** Waits until a discovery has ended and its findings are stored. Returns the discovery. */
export async function endOfDiscovery({ hub, admin }: { hub: TestHub; admin: TestCaller }, jobId: string) {
  const deadline = performance.now() + 120_000
  for (;;) {
    await hub.settle()
    const { data } = await admin.discovery.getDiscovery({ params: { jobId } })
    if (['finished', 'failed', 'canceled'].includes(data.state)) return data
    if (performance.now() > deadline) throw new Error(`The discovery does not end: ${JSON.stringify(data)}`)
  }
}

type Scan = {
  hub: TestHub
  admin: TestCaller
  gateway: TestGateway
  /** The id of the discovery. */
  jobId: string
  assets: Record<string, unknown>[]
  /** Is called before the job ends. */
  beforeEnd?: (leased: LeasedDiscovery) => Promise<unknown>
}

/** Runs a discovery as its gateway: leases the job, uploads the devices, and waits until the discovery has finished. */
export async function runScan({ hub, admin, gateway, jobId, assets, beforeEnd }: Scan) {
  const leased = await leaseDiscovery(gateway)
  await uploadDevices(gateway, leased, { assets })
  await beforeEnd?.(leased)
  await endDiscoveryJob(gateway, leased)
  const ended = await endOfDiscovery({ hub, admin }, jobId)
  if (ended.state !== 'finished') throw new Error(`The discovery has not finished: ${JSON.stringify(ended)}`)
  return { ...ended, job: leased.job }
}

/** Creates the report of a built-in link, as a gateway sends it. */
export function managedLink(changes: Partial<ManagedLink> = {}): ManagedLink {
  const name = 'plant'
  return { name, appInstanceId: `millwright.links.${name}`, enabled: false, state: 'stopped', restarts: 0, ...changes }
}

/** Creates the report of a link, as a gateway sends it. */
export function linkReport(changes: Partial<LinkReport> = {}): LinkReport {
  return {
    appInstanceId: 'cdm-device-class-driver-example',
    deviceClass: 'example.cdm.al.reference',
    vendorPrefix: 'millwright',
    endpoint: '127.0.0.1:8081',
    interfaces: [
      'millwright.connectivitysuite.drvinfo.v1',
      'millwright.industrialassethub.discover.v1',
      'millwright.connectivitysuite.deviceinfo.v1',
    ],
    product: { vendor: 'Example', name: 'Reference link', version: '1.2.3' },
    filters: [{ key: 'ip_range', dataType: 'text', mandatory: false }],
    options: [{ key: 'size', dataType: 'unsigned', mandatory: true, defaultValue: 10 }],
    credentialSchemas: [],
    state: 'running',
    ...changes,
  }
}

/** Creates the report of a found device, as a gateway sends it. */
export function foundDevice(index: number, changes: Record<string, unknown> = {}): Record<string, unknown> {
  const mac = `02:00:00:00:${(index >> 8).toString(16).padStart(2, '0')}:${(index & 255).toString(16).padStart(2, '0')}`
  return {
    functional_object_type: 'Device',
    name: `Device ${index}`,
    asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: mac }],
    product_instance_information: { serial_number: `SN${index}` },
    ...changes,
  }
}

/** Creates the receipt of a job, signed by the gateway. `changes` replace fields before the receipt is signed. */
export function signedReceipt(
  { id: gatewayId, key }: Pick<TestGateway, 'id' | 'key'>,
  { definition }: WorkflowJob,
  changes: Partial<SignedReceipt> = {},
): SignedReceipt {
  const time = '2026-01-31T08:30:00.000Z'
  const publicKey = key.publicKey as GatewayKey
  return signReceipt(
    {
      jobId: String(definition.discoveryId),
      runId: String(definition.runId),
      gatewayId,
      assetLinkId: String(definition.assetLinkId),
      from: time,
      to: time,
      state: 'finished',
      budget: defaultBudget,
      devices: [{ address: '10.0.0.7', packets: { 'snmp Get': 3 }, first: time, last: time }],
      totals: { 'snmp Get': 3 },
      refused: {},
      ...changes,
    },
    { privateKey: KeyObject.from(key.privateKey), publicKey, thumbprint: keyThumbprint(publicKey) },
  )
}

/** Stores that a gateway found an asset at an address, without a discovery. */
export async function addAddress(
  hub: TestHub,
  { assetId, gatewayId, address }: { assetId: string; gatewayId: string; address: string },
): Promise<void> {
  await hub.asOwner((owner) =>
    owner.query(`insert into device_addresses values ($1, $2, $3, 'link', $4, now(), now())`, [
      hub.tenant.tenantId,
      assetId,
      gatewayId,
      address,
    ]),
  )
}
