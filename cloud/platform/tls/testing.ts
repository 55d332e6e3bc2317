import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { type CertificateWithKey, createAuthority, createCertificate } from '@millwright/api/certificates.ts'

/** Certificates for tests. */

const dayMs = 24 * 3_600_000

export function testAuthority(name = 'Test authority'): CertificateWithKey {
  return createAuthority({ subject: { name }, validity: { to: new Date(Date.now() + 365 * dayMs) } })
}

/** Creates a certificate of a server. A negative number of days creates an expired certificate. */
export function serverCertificate(
  authority: CertificateWithKey,
  { hosts = ['localhost', '127.0.0.1'], days = 90 }: { hosts?: string[]; days?: number } = {},
): CertificateWithKey {
  const to = new Date(Date.now() + days * dayMs)
  const validity = days < 0 ? { from: new Date(to.getTime() - dayMs), to } : { to }
  return createCertificate({ authority, subject: { name: 'server' }, hosts, usages: ['server'], validity })
}

/** `PairFolder` is a folder with the files of a certificate, which a test can replace. */
export class PairFolder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'millwright-tls-'))
  readonly certFile = join(this.path, 'server.pem')
  readonly keyFile = join(this.path, 'server-key.pem')

  constructor(pair: CertificateWithKey) {
    this.write(pair)
  }

  write({ certificate, key }: CertificateWithKey): void {
    writeFileSync(this.keyFile, key, { mode: 0o600 })
    writeFileSync(this.certFile, certificate)
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true })
  }
}

/** Accepts an authority in all TLS connections of this process, until it is disposed. */
export function trustInProcess(authority: string): Disposable {
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, authority])
  return { [Symbol.dispose]: () => setDefaultCACertificates(before) }
}
