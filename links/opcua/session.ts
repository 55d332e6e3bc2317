import { constants, publicEncrypt, randomBytes, X509Certificate } from 'node:crypto'
import type {
  ActivateSessionResponse,
  BrowseNextResponse,
  BrowseResponse,
  BrowseResult,
  CreateSessionResponse,
  DataValue,
  NodeId,
  ReadResponse,
} from 'node-opcua-client'
import { parseCertificate } from './certificate.ts'
import type { Channel } from './channel.ts'
import type { ClientCertificate } from './client-certificate.ts'
import type { Access } from './identity.ts'
import type { Library } from './library.ts'

type SessionOptions = { library: Library; access: Access; endpointUrl: string; client: ClientCertificate | undefined }

const sessionTimeoutMs = 60_000
const nonceBytes = 32
/** The children of one node that are read with one request. */
const referencesPerNode = 100

/** `Session` reads values and nodes of a server. It has no functions that write, call methods or subscribe. */
export class Session implements AsyncDisposable {
  readonly #channel: Channel
  readonly #library: Library
  readonly #token: NodeId

  private constructor(channel: Channel, library: Library, token: NodeId) {
    this.#channel = channel
    this.#library = library
    this.#token = token
  }

  /** Creates a session on a channel and signs in. */
  static async open(channel: Channel, options: SessionOptions): Promise<Session> {
    const { library, endpointUrl, client } = options
    const created = await channel.send<CreateSessionResponse>(
      'CreateSession',
      new library.CreateSessionRequest({
        requestHeader: { timestamp: new Date() },
        clientDescription: {
          applicationUri: client?.applicationUri ?? 'urn:millwright:links:opcua',
          productUri: 'urn:millwright:links:opcua',
          applicationName: { text: 'Millwright OPC UA link' },
          applicationType: library.ApplicationType.Client,
        },
        endpointUrl,
        sessionName: 'Millwright',
        clientNonce: randomBytes(nonceBytes),
        ...(client === undefined ? {} : { clientCertificate: client.der }),
        requestedSessionTimeout: sessionTimeoutMs,
        maxResponseMessageSize: 0,
      }),
    )
    const session = new Session(channel, library, created.authenticationToken)
    try {
      await session.#activate(options, created)
      return session
    } catch (error) {
      await session[Symbol.asyncDispose]()
      throw error
    }
  }

  async #activate({ library, access, client }: SessionOptions, created: CreateSessionResponse): Promise<void> {
    const { endpoint } = access
    const proof = { certificate: certificateOf(access, created), nonce: created.serverNonce ?? Buffer.alloc(0) }
    const isSecured = endpoint.mode !== 'None'
    const clientSignature =
      client === undefined || !isSecured
        ? undefined
        : library.computeSignature(
            proof.certificate,
            proof.nonce,
            client.key,
            library.coerceSecurityPolicy(endpoint.policyUri),
          )
    await this.#channel.send<ActivateSessionResponse>(
      'ActivateSession',
      new library.ActivateSessionRequest({
        requestHeader: this.#header(),
        ...(clientSignature === undefined ? {} : { clientSignature }),
        localeIds: ['en'],
        ...userTokenOf(library, access, proof),
      }),
    )
  }

  /** Reads the values of variables. The result has one entry for each node. */
  async read(nodes: readonly NodeId[]): Promise<DataValue[]> {
    const { ReadRequest, AttributeIds, TimestampsToReturn } = this.#library
    const nodesToRead = nodes.map((nodeId) => ({ nodeId, attributeId: AttributeIds.Value }))
    const { results } = await this.#channel.send<ReadResponse>(
      'Read',
      new ReadRequest({ requestHeader: this.#header(), nodesToRead, timestampsToReturn: TimestampsToReturn.Neither }),
    )
    return results ?? []
  }

  /** Reads the objects and variables below nodes. The result has one entry for each node. */
  async browse(nodes: readonly NodeId[]): Promise<BrowseResult[]> {
    const { BrowseRequest, BrowseDirection } = this.#library
    const { results } = await this.#channel.send<BrowseResponse>(
      'Browse',
      new BrowseRequest({
        requestHeader: this.#header(),
        requestedMaxReferencesPerNode: referencesPerNode,
        nodesToBrowse: nodes.map((nodeId) => ({
          nodeId,
          browseDirection: BrowseDirection.Forward,
          referenceTypeId: hierarchicalReferences,
          includeSubtypes: true,
          nodeClassMask: objects | variables,
          resultMask: allFields,
        })),
      }),
    )
    return results ?? []
  }

  /** Reads further children of a node. */
  async browseNext(continuationPoint: Buffer): Promise<BrowseResult | undefined> {
    const { results } = await this.#channel.send<BrowseNextResponse>(
      'BrowseNext',
      new this.#library.BrowseNextRequest({
        requestHeader: this.#header(),
        releaseContinuationPoints: false,
        continuationPoints: [continuationPoint],
      }),
    )
    return results?.[0]
  }

  /** Closes the session. The end of the connection closes it too, so a failure has no consequences. */
  async [Symbol.asyncDispose](): Promise<void> {
    const request = new this.#library.CloseSessionRequest({ requestHeader: this.#header(), deleteSubscriptions: true })
    await this.#channel.send('CloseSession', request).catch(() => undefined)
  }

  #header() {
    return { authenticationToken: this.#token, timestamp: new Date() }
  }
}

const hierarchicalReferences = 'i=33'
const objects = 1
const variables = 2
const allFields = 0x3f

type Proof = { certificate: Buffer; nonce: Buffer }

function certificateOf({ endpoint }: Access, { serverCertificate }: CreateSessionResponse): Buffer {
  return endpoint.certificate?.der ?? serverCertificate ?? Buffer.alloc(0)
}

/** Returns the part of an ActivateSession request that contains the user. */
function userTokenOf(library: Library, { endpoint, token, identity }: Access, { certificate, nonce }: Proof) {
  const { policyId } = token
  const policyUri = token.policyUri ?? endpoint.policyUri
  switch (identity.type) {
    case 'Anonymous':
      return { userIdentityToken: new library.AnonymousIdentityToken({ policyId }) }
    case 'UserName': {
      const { username: userName, password } = identity
      const secret = secretOf(password, { policyUri, certificate, nonce })
      return { userIdentityToken: new library.UserNameIdentityToken({ policyId, userName, ...secret }) }
    }
    case 'Certificate': {
      const policy = library.coerceSecurityPolicy(policyUri)
      const userTokenSignature = library.computeSignature(certificate, nonce, identity.key, policy)
      return {
        userIdentityToken: new library.X509IdentityToken({ policyId, certificateData: identity.der }),
        ...(userTokenSignature === undefined ? {} : { userTokenSignature }),
      }
    }
  }
}

type Encryption = { hash: 'sha1' | 'sha256'; algorithm: string; overheadBytes: number }

const oaepSha1: Encryption = {
  hash: 'sha1',
  algorithm: 'http://www.w3.org/2001/04/xmlenc#rsa-oaep',
  overheadBytes: 42,
}

const encryptions: Readonly<Record<string, Encryption>> = {
  Basic256Sha256: oaepSha1,
  Aes128_Sha256_RsaOaep: oaepSha1,
  Aes256_Sha256_RsaPss: {
    hash: 'sha256',
    algorithm: 'http://opcfoundation.org/UA/security/rsa-oaep-sha2-256',
    overheadBytes: 66,
  },
}

type SecretContext = Proof & { policyUri: string }

/**
 * Returns the password in the form of a user name token. It is encrypted for the server if the policy of the token
 * requires it (OPC 10000-4, 7.40.2).
 */
export function secretOf(password: string, { policyUri, certificate, nonce }: SecretContext) {
  const text = Buffer.from(password, 'utf8')
  const policy = policyUri.replace(/^.*#/, '')
  if (policy === 'None' || policy === '') return { password: text }
  const encryption = encryptions[policy]
  if (encryption === undefined) throw new Error(`the link does not support the policy ${policy} for passwords`)
  const length = Buffer.alloc(4)
  length.writeUInt32LE(text.length + nonce.length)
  const plain = Buffer.concat([length, text, nonce])
  if (parseCertificate(certificate)?.isUsable !== true) {
    throw new Error('the server has no certificate with which a password can be encrypted')
  }
  const key = new X509Certificate(certificate).publicKey
  const blockBytes = (key.asymmetricKeyDetails?.modulusLength ?? 0) / 8 - encryption.overheadBytes
  const blocks: Buffer[] = []
  for (let start = 0; start < plain.length; start += blockBytes) {
    const options = { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: encryption.hash }
    blocks.push(publicEncrypt(options, plain.subarray(start, start + blockBytes)))
  }
  return { password: Buffer.concat(blocks), encryptionAlgorithm: encryption.algorithm }
}
