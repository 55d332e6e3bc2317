import { randomBytes, X509Certificate } from 'node:crypto'
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import {
  type CertificateWithKey,
  createAuthority,
  createCertificate,
  isCertificateHost,
} from '@millwright/api/certificates.ts'
import { certificatesIn, dayOf, hostsOf } from '@millwright/cloud/platform/tls/certificate-pair.ts'
import { CommandError, usageError } from '../output/error-report.ts'

/** The files of `millwright tls create` in the folder `tls` of a home. */

const authorityName = 'Millwright local authority'
const authorityDays = 3_650
const dayMs = 24 * 3_600_000
const maxHosts = 100

export type LocalCertificate = {
  isRenewed: boolean
  hosts: string[]
  validTo: string
  fingerprint: string
  certFile: string
  keyFile: string
  authorityFile: string
  authorityKeyFile: string
}

type CreateOptions = { home: string; hosts: readonly string[] | undefined; days: number }

/**
 * Creates a certificate for the hosts. It uses the authority in the home, and creates it if there is none. Files that this
 * command did not create are never replaced.
 */
export async function createLocalCertificate({ home, hosts, days }: CreateOptions): Promise<LocalCertificate> {
  const folder = join(home, 'tls')
  const files = {
    certFile: join(folder, 'server.pem'),
    keyFile: join(folder, 'server-key.pem'),
    authorityFile: join(folder, 'authority.pem'),
    authorityKeyFile: join(folder, 'authority-key.pem'),
  }
  for (const host of hosts ?? [])
    if (!isCertificateHost(host)) throw usageError(`"${host}" is not a DNS name or an IP address.`)
  if ((hosts?.length ?? 0) > maxHosts) throw usageError(`A certificate can have at most ${maxHosts} names.`)
  const existing = await existingAuthority(files)
  const former = await formerCertificate(files, existing)
  const authority = existing ?? newAuthority()
  const names = [...new Set(hosts ?? (former === undefined ? defaultHosts() : allHosts(former)))]
  const validTo = new Date(Math.min(Date.now() + days * dayMs, endOf(authority)))
  const { certificate, key } = createCertificate({
    authority,
    subject: { name: names[0] ?? 'localhost' },
    hosts: names,
    usages: ['server'],
    validity: { to: validTo },
  })
  await mkdir(folder, { recursive: true, mode: 0o711 }).catch((error: unknown) => {
    throw notWritable(folder, error)
  })
  if (existing === undefined) {
    await write(files.authorityKeyFile, authority.key, 0o600)
    await write(files.authorityFile, authority.certificate, 0o644)
  }
  await write(files.keyFile, key, 0o600)
  // The chain contains the authority, so that the local gateway finds it.
  await write(files.certFile, `${certificate}${authority.certificate}`, 0o644)
  const { fingerprint256: fingerprint } = new X509Certificate(certificate)
  return { ...files, isRenewed: former !== undefined, hosts: names, validTo: dayOf(validTo.toISOString()), fingerprint }
}

type Files = Pick<LocalCertificate, 'certFile' | 'keyFile' | 'authorityFile' | 'authorityKeyFile'>

function newAuthority(): CertificateWithKey {
  const name = `${authorityName} of ${hostname()}`.slice(0, 64)
  return createAuthority({ subject: { name }, validity: { to: new Date(Date.now() + authorityDays * dayMs) } })
}

/** Returns the authority in the home. Throws if its files are incomplete or from another program. */
async function existingAuthority({ authorityFile, authorityKeyFile }: Files): Promise<CertificateWithKey | undefined> {
  const [certificate, key] = await Promise.all([readText(authorityFile), readText(authorityKeyFile)])
  if (certificate === undefined && key === undefined) return undefined
  if (certificate === undefined || key === undefined)
    throw foreignFile(certificate === undefined ? authorityKeyFile : authorityFile)
  const [authority] = parsed(certificate, authorityFile)
  if (!authority?.subject.includes(authorityName)) throw foreignFile(authorityFile)
  if (Date.parse(authority.validTo) < Date.now())
    throw new CommandError(`The authority ${authorityFile} expired on ${dayOf(authority.validTo)}.`, {
      next: 'move the folder away, create a new authority, and trust it everywhere',
    })
  return { certificate, key }
}

/** Returns the certificate in the home. Throws if another authority issued it. */
async function formerCertificate(
  { certFile, keyFile }: Files,
  authority: CertificateWithKey | undefined,
): Promise<X509Certificate | undefined> {
  const [text, key] = await Promise.all([readText(certFile), readText(keyFile)])
  if (text === undefined) {
    if (key !== undefined && authority === undefined) throw foreignFile(keyFile)
    return undefined
  }
  const [former] = parsed(text, certFile)
  const isOwn = authority !== undefined && former?.verify(new X509Certificate(authority.certificate).publicKey)
  if (!isOwn) throw foreignFile(certFile)
  return former
}

function parsed(text: string, file: string): X509Certificate[] {
  try {
    return certificatesIn(text)
  } catch {
    throw foreignFile(file)
  }
}

function foreignFile(file: string): CommandError {
  return new CommandError(`${file} was not created by this command, so it is not replaced.`, {
    next: 'move the file away, or use it with MILLWRIGHT_TLS_CERT and MILLWRIGHT_TLS_KEY',
  })
}

/** Browsers accept no certificate for `*.localhost`, so web pages of devices use names below `remote.localhost`. */
function defaultHosts(): string[] {
  const own = hostname().toLowerCase()
  const hosts = ['localhost', '*.remote.localhost', ...(isCertificateHost(own) ? [own] : [])]
  return [...hosts, '127.0.0.1', '::1']
}

function allHosts(certificate: X509Certificate): string[] {
  const { names, addresses } = hostsOf(certificate)
  return [
    ...names,
    ...addresses.map((address) => new URL(`http://${bracketed(address)}`).hostname.replace(/[[\]]/g, '')),
  ]
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address
}

function endOf({ certificate }: CertificateWithKey): number {
  return Date.parse(new X509Certificate(certificate).validTo)
}

async function readText(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new CommandError(`${file} cannot be read (${error.code}).`, {
      next: 'run the command as the user of the platform',
    })
  })
}

/** Replaces a file completely, so that a running platform never reads a part of it. */
async function write(file: string, text: string, mode: number): Promise<void> {
  const draft = `${file}.${randomBytes(4).toString('hex')}`
  try {
    await writeFile(draft, text, { mode, flag: 'wx' })
    await chmod(draft, mode)
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    throw notWritable(file, error)
  }
}

function notWritable(file: string, error: unknown): CommandError {
  return new CommandError(`${file} cannot be written (${(error as NodeJS.ErrnoException).code}).`, {
    next: 'check the permissions of the folder',
  })
}
