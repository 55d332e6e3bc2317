import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Credential } from '@millwright/link-sdk/credential.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { type Endpoint, securedEndpoints, type TokenType, type UserToken } from './endpoints.ts'

/** `Identity` is the user with which the link signs in. */
export type Identity =
  | { type: 'Anonymous' }
  | { type: 'UserName'; username: string; password: string; serverHash?: string }
  | { type: 'Certificate'; der: Buffer; key: { hidden: string }; serverHash?: string }

export const anonymous: Identity = { type: 'Anonymous' }

/** The JSON Schemas of the credentials. */
export const credentialSchemas = [
  {
    uri: 'urn:millwright:links:opcua:credentials:user:1',
    schema: schemaOf('User of an OPC UA server', {
      username: { type: 'string', title: 'User', minLength: 1 },
      password: { type: 'string', title: 'Password', format: 'password', writeOnly: true },
    }),
  },
  {
    uri: 'urn:millwright:links:opcua:credentials:certificate:1',
    schema: schemaOf('User certificate for an OPC UA server', {
      certificate: { type: 'string', title: 'Certificate (PEM)', minLength: 1 },
      private_key: { type: 'string', title: 'Private key (PEM)', format: 'password', writeOnly: true },
    }),
  },
]

function schemaOf(title: string, properties: Record<string, object>) {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title,
    type: 'object',
    properties: {
      ...properties,
      server_certificate_hash: {
        type: 'string',
        title: 'SHA-256 hash of the server certificate',
        description: 'The credentials are sent only to a server with this certificate',
        pattern: '^[0-9a-fA-F]{64}$',
      },
    },
    required: Object.keys(properties),
    additionalProperties: false,
  }
}

/** Returns the user of credentials. Throws INVALID_ARGUMENT if they contain neither a password nor a certificate. */
export function identityOf({ fields, username, password }: Credential): Identity {
  const { certificate, private_key: privateKey, server_certificate_hash: hash } = fields
  const pin = typeof hash === 'string' && hash !== '' ? { serverHash: hash.toLowerCase() } : {}
  if (username !== undefined && password !== undefined) return { type: 'UserName', username, password, ...pin }
  if (typeof certificate === 'string' && typeof privateKey === 'string') {
    return { type: 'Certificate', ...keyPairOf(certificate, privateKey), ...pin }
  }
  throw new LinkError(
    'INVALID_ARGUMENT',
    'The credentials must contain "username" and "password", or "certificate" and "private_key".',
  )
}

function keyPairOf(certificate: string, privateKey: string): { der: Buffer; key: { hidden: string } } {
  try {
    const parsed = new X509Certificate(certificate)
    const key = createPrivateKey(privateKey)
    if (key.asymmetricKeyType === 'rsa' && parsed.checkPrivateKey(key)) {
      return { der: parsed.raw, key: { hidden: key.export({ type: 'pkcs8', format: 'pem' }).toString() } }
    }
  } catch {
    // The error is thrown below. The cause could contain parts of the key, so it is not attached.
  }
  throw new LinkError(
    'INVALID_ARGUMENT',
    'The user certificate and its RSA private key must be PEM texts that belong together.',
  )
}

/** `Access` is the endpoint through which the link signs in, and the kind of user. */
export type Access = { endpoint: Endpoint; token: UserToken; identity: Identity }

type AccessOptions = { allowPlainPassword: boolean; server: string }

/**
 * Selects the endpoint for a user. Anonymous access prefers an endpoint without security, because it needs no trust
 * between server and link. All other users prefer encrypted endpoints. Throws a `LinkError` if no endpoint is suitable.
 */
export function accessFor(
  identity: Identity,
  endpoints: readonly Endpoint[],
  { allowPlainPassword, server }: AccessOptions,
): Access {
  const secured = securedEndpoints(endpoints)
  const open = endpoints.filter(({ mode }) => mode === 'None')
  const accesses = (some: readonly Endpoint[]) => some.flatMap((endpoint) => accessAt(endpoint, identity))
  if (identity.type === 'Anonymous') {
    return accesses([...open, ...secured])[0] ?? throwError(protectedError(server, endpoints))
  }
  const pinned = secured.filter(({ certificate }) => (identity.serverHash ?? certificate.hash) === certificate.hash)
  if (secured.length > 0 && pinned.length === 0) throw otherCertificateError(server)
  const encrypted = accesses(pinned.filter(({ mode }) => identity.type !== 'UserName' || mode === 'SignAndEncrypt'))
  if (encrypted[0] !== undefined) return encrypted[0]
  const plain = accesses([...pinned, ...open])
  if (plain[0] === undefined) throw unsupportedError(server, identity.type)
  if (allowPlainPassword && identity.serverHash === undefined) return plain[0]
  throw new LinkError(
    'FAILED_PRECONDITION',
    `${server} accepts the credentials only on a channel without encryption, so they are not sent. Activate the security policy Basic256Sha256 on the server, or set the option allow_plain_password.`,
  )
}

function accessAt(endpoint: Endpoint, identity: Identity): Access[] {
  return endpoint.tokens.filter(({ type }) => type === identity.type).map((token) => ({ endpoint, token, identity }))
}

/** Returns whether the server accepts users that need credentials. */
function acceptsCredentials(endpoints: readonly Endpoint[]): boolean {
  return endpoints.some(({ tokens }) => tokens.some(({ type }) => type === 'UserName' || type === 'Certificate'))
}

function protectedError(server: string, endpoints: readonly Endpoint[]): LinkError {
  if (acceptsCredentials(endpoints)) {
    return new LinkError(
      'UNAUTHENTICATED',
      `${server} is protected: reading its nameplate needs a user name and a password, or a user certificate.`,
    )
  }
  return new LinkError(
    'FAILED_PRECONDITION',
    `${server} has no endpoint that the link can use: it needs OPC UA TCP with a security policy with SHA-256, or without security.`,
  )
}

function otherCertificateError(server: string): LinkError {
  return new LinkError(
    'FAILED_PRECONDITION',
    `${server} has another certificate than the credentials require, so they are not sent. Check the server, and the field server_certificate_hash of the credentials.`,
  )
}

function unsupportedError(server: string, type: TokenType): LinkError {
  const kind = type === 'UserName' ? 'user names' : 'user certificates'
  return new LinkError('UNAUTHENTICATED', `${server} does not accept ${kind} on an endpoint that the link can use.`)
}

function throwError(error: LinkError): never {
  throw error
}
