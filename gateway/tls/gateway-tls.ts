import { unwatchFile, watchFile } from 'node:fs'
import { isIPv6 } from 'node:net'
import type { PeerCertificate } from 'node:tls'
import { type ChannelCredentials, credentials, ServerCredentials } from '@grpc/grpc-js'
import type { CertificateWithKey } from '@millwright/api/certificates.ts'
import { certificateOwner } from '@millwright/api/link-tls.ts'
import type { Log } from '../log.ts'
import { gatewayAuthority, gatewayCertificate, tlsFolder } from './gateway-authority.ts'
import {
  findCertificate,
  folderOf,
  type IssuedCertificate,
  type IssuedRole,
  listCertificates,
} from './issued-certificates.ts'

/** The interval in which the gateway looks for revoked certificates. */
const checkEveryMs = 500

/** `RefusedPeerError` means that a certificate of the authority cannot be used for a connection. */
export class RefusedPeerError extends Error {
  override readonly name = 'RefusedPeerError'
}

/** `StoredPeer` identifies a certificate in a file. */
export type StoredPeer = { serial: string; fingerprint: string }

/**
 * `TlsPeer` is a link or an agent on another machine, which the gateway knows by its certificate. Its text form contains no
 * secrets.
 */
export class TlsPeer {
  readonly name: string
  readonly serial: string
  readonly fingerprint: string
  readonly #hosts: readonly string[]
  readonly #revoking = new AbortController()
  readonly #credentials: ChannelCredentials

  constructor({ name, serial, fingerprint, hosts }: IssuedCertificate, own: CertificateWithKey, authority: string) {
    this.name = name
    this.serial = serial
    this.fingerprint = fingerprint
    this.#hosts = hosts.map(normalised)
    const check = (_host: string, certificate: PeerCertificate) => this.#check(certificate)
    const pem = [authority, own.key, own.certificate].map((text) => Buffer.from(text))
    this.#credentials = credentials.createSsl(...(pem as [Buffer, Buffer, Buffer]), { checkServerIdentity: check })
  }

  /** The credentials for calls to the link. The link must present the certificate with which it registered. */
  get credentials(): ChannelCredentials {
    return this.#credentials
  }

  /** Aborts when the certificate is revoked. */
  get revoked(): AbortSignal {
    return this.#revoking.signal
  }

  /** Returns whether the certificate contains the DNS name or the IP address. */
  hasHost(host: string): boolean {
    return this.#hosts.includes(normalised(host))
  }

  revoke(): void {
    this.#revoking.abort(new RefusedPeerError(`The certificate of ${this.name} was revoked`))
  }

  toJSON(): StoredPeer {
    return { serial: this.serial, fingerprint: this.fingerprint }
  }

  #check({ fingerprint256 }: PeerCertificate): Error | undefined {
    if (this.revoked.aborted) return this.revoked.reason
    if (fingerprint256 === this.fingerprint) return undefined
    return new RefusedPeerError(`The link did not present the certificate with which ${this.name} registered`)
  }
}

type Options = {
  home: string
  /** Further DNS names and addresses of the gateway. */
  names: readonly string[]
  log: Log
}

/**
 * `GatewayTls` is the TLS identity of the gateway towards links and agents on other machines. It decides which certificates
 * are accepted: those that the gateway created for the role and that are not revoked.
 */
export class GatewayTls implements Disposable {
  readonly #home: string
  readonly #log: Log
  readonly #own: CertificateWithKey
  /** The authority of the gateway, in PEM format. */
  readonly authority: string
  readonly #peers = new Map<string, TlsPeer>()
  readonly #listeners: ((peer: TlsPeer) => void)[] = []
  /** The names of the links with a valid certificate. */
  #linkNames: ReadonlySet<string> = new Set()
  readonly #onFolderChange = () => void this.#reload()

  private constructor({ home, log }: Options, own: CertificateWithKey, authority: string) {
    this.#home = home
    this.#log = log
    this.#own = own
    this.authority = authority
  }

  static async open(options: Options): Promise<GatewayTls> {
    const { home, names } = options
    const authority = await gatewayAuthority(home)
    const tls = new GatewayTls(options, gatewayCertificate(authority, names), authority.certificate)
    // The folder exists before it is watched, so that the first certificate is noticed too.
    await tlsFolder(home, 'certificates')
    await tls.#reload()
    watchFile(folderOf(home), { interval: checkEveryMs, persistent: false }, tls.#onFolderChange)
    return tls
  }

  /** The options of a TLS server that accepts only certificates of the authority. */
  get serverOptions() {
    const { certificate: cert, key } = this.#own
    return {
      cert,
      key,
      ca: this.authority,
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
    } as const
  }

  get grpcServerCredentials(): ServerCredentials {
    const { certificate, key } = this.#own
    const pair = { private_key: Buffer.from(key), cert_chain: Buffer.from(certificate) }
    return ServerCredentials.createSsl(Buffer.from(this.authority), [pair], true)
  }

  /** Calls the listener when the certificate of a peer was revoked. */
  onRevoked(listener: (peer: TlsPeer) => void): void {
    this.#listeners.push(listener)
  }

  /** Returns whether a link certificate with this name exists. Then only the link with the certificate can use the name. */
  isCertified(linkId: string): boolean {
    return this.#linkNames.has(linkId)
  }

  /** Returns the owner of the certificate of a connection. Throws a `RefusedPeerError` that explains the refusal. */
  peerOf(certificate: PeerCertificate | undefined, role: IssuedRole): TlsPeer {
    if (certificate?.raw === undefined) throw new RefusedPeerError('The connection has no certificate of this gateway')
    const owner = certificateOwner(certificate.subject)
    if (owner?.role !== role)
      throw new RefusedPeerError(
        `The certificate has the role ${owner?.role ?? 'unknown'}, but this port requires the role ${role}. Create a certificate with this role: millwright gateway certificate create`,
      )
    const { serialNumber: serial, fingerprint256: fingerprint } = certificate
    const peer = this.peer({ serial, fingerprint })
    if (peer?.name !== owner.name)
      throw new RefusedPeerError(
        `The certificate ${serial} of ${owner.name} was revoked or is unknown. Create a new one: millwright gateway certificate create`,
      )
    return peer
  }

  /** Returns the owner of a stored certificate. Returns undefined if it was revoked or is unknown. */
  peer({ serial, fingerprint }: StoredPeer): TlsPeer | undefined {
    const issued = findCertificate(this.#home, serial)
    if (issued === undefined || issued.revoked !== undefined || issued.fingerprint !== fingerprint) {
      this.#revoke(serial)
      return undefined
    }
    const peer = this.#peers.get(serial) ?? new TlsPeer(issued, this.#own, this.authority)
    this.#peers.set(serial, peer)
    return peer
  }

  [Symbol.dispose](): void {
    unwatchFile(folderOf(this.#home), this.#onFolderChange)
  }

  async #reload(): Promise<void> {
    try {
      const now = new Date().toISOString()
      const issued = await listCertificates(this.#home)
      const valid = issued.filter(({ role, revoked, expires }) => role === 'link' && !revoked && expires > now)
      this.#linkNames = new Set(valid.map(({ name }) => name))
    } catch (error) {
      this.#log.error({ error }, 'the list of certificates for links and agents cannot be read')
    }
    for (const { serial, fingerprint } of [...this.#peers.values()]) this.peer({ serial, fingerprint })
  }

  #revoke(serial: string): void {
    const peer = this.#peers.get(serial)
    if (peer === undefined) return
    this.#peers.delete(serial)
    this.#log.warn({ peer: peer.name, serial }, 'a certificate was revoked; its connections end')
    peer.revoke()
    for (const listener of this.#listeners) listener(peer)
  }
}

/** Returns one text for all spellings of a host name or an address. */
function normalised(host: string): string {
  return isIPv6(host) ? new URL(`http://[${host.replace(/%.*$/, '')}]`).hostname : host.toLowerCase()
}
