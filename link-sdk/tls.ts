import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { PeerCertificate } from 'node:tls'
import {
  type ChannelCredentials,
  type ChannelOptions,
  credentials,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  status,
} from '@grpc/grpc-js'
import { certificateOwner, gatewayTlsName } from '@millwright/api/link-tls.ts'

/**
 * `LinkTls` is the certificate of a link on another machine than its gateway, in PEM format. The command
 * `millwright gateway certificate create` creates it.
 */
export type LinkTls = { certificate: string; key: string; authority: string }

/** Returns the name in the certificate. It is the id with which the link registers. */
export function certifiedName({ certificate }: Pick<LinkTls, 'certificate'>): string {
  const { subject } = new X509Certificate(certificate)
  const field = (name: string) => new RegExp(`^${name}=(.+)$`, 'm').exec(subject)?.[1]
  const owner = certificateOwner({ OU: field('OU'), CN: field('CN') })
  if (owner?.role === 'link') return owner.name
  throw new Error(
    'The certificate is not for a link. Create one on the machine of the gateway: millwright gateway certificate create',
  )
}

/** Throws if the files do not belong together, or if the certificate has expired. */
export function requireUsable({ certificate, key, authority }: LinkTls): void {
  const own = new X509Certificate(certificate)
  if (!own.checkPrivateKey(createPrivateKey(key))) throw new Error('The key does not belong to the certificate.')
  const issuer = new X509Certificate(authority)
  if (!own.checkIssued(issuer) || !own.verify(issuer.publicKey))
    throw new Error('The authority did not sign the certificate. Use the three files of the same gateway.')
  if (Date.parse(own.validTo) < Date.now())
    throw new Error(
      `The certificate expired at ${own.validTo}. Create a new one on the machine of the gateway: millwright gateway certificate create`,
    )
}

/** Returns the credentials of the server of the link. With a certificate, only clients with a certificate can connect. */
export function serverCredentials(tls: LinkTls | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure()
  const pair = { private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.certificate) }
  return ServerCredentials.createSsl(Buffer.from(tls.authority), [pair], true)
}

/** Returns the interceptors of the server of the link. With a certificate, only the gateway can call the link. */
export function serverInterceptors(tls: LinkTls | undefined): ServerInterceptor[] {
  return tls === undefined ? [] : [onlyGateway]
}

const onlyGateway: ServerInterceptor = (_method, call) => {
  if (isGateway(call.getAuthContext().sslPeerCertificate)) return new ServerInterceptingCall(call)
  const details = 'Only the gateway can call this link. The certificate of the caller has another role.'
  return new ServerInterceptingCall(call, {
    start: (next) =>
      next({ onReceiveMetadata: () => call.sendStatus({ code: status.PERMISSION_DENIED, details, metadata: null }) }),
  })
}

/** Returns the credentials of connections to the registry. With a certificate, only the gateway is accepted. */
export function registryCredentials(tls: LinkTls | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure()
  const [authority, key, certificate] = [tls.authority, tls.key, tls.certificate].map((text) => Buffer.from(text))
  return credentials.createSsl(authority, key, certificate, {
    checkServerIdentity: (_host, peer) =>
      isGateway(peer) ? undefined : new Error('The server at the address of the registry is not the gateway'),
  })
}

/** Returns the channel options of connections to the registry. */
export function registryOptions(tls: LinkTls | undefined): ChannelOptions {
  return {
    'grpc.enable_http_proxy': 0,
    ...(tls === undefined ? {} : { 'grpc.ssl_target_name_override': gatewayTlsName }),
  }
}

function isGateway(peer: PeerCertificate | undefined): boolean {
  return certificateOwner(peer?.subject)?.role === 'gateway'
}
