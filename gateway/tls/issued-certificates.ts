import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type CertificateWithKey, createCertificate, isCertificateHost } from '@millwright/api/certificates.ts'
import { type Static, Type } from 'typebox'
import Value from 'typebox/value'
import { readIfExists, writeDurably } from '../durable-file.ts'
import { SetupError } from '../setup-error.ts'
import { gatewayAuthority, tlsFolder, tlsFolderName } from './gateway-authority.ts'

/**
 * The certificates that the gateway has created for links and agents on other machines. Each one has a file in the folder
 * `tls/certificates` of the home, with its serial number as the name. A certificate without a file is not accepted.
 */

export const issuedRoles = ['link', 'agent'] as const
export type IssuedRole = (typeof issuedRoles)[number]

export const certificateLimits = {
  days: { minimum: 90, default: 365, maximum: 825 },
  hosts: 32,
  name: 64,
  certificates: 1_000,
} as const

const certificatesFolderName = 'certificates'
const dayMs = 86_400_000

const IssuedCertificate = Type.Object({
  serial: Type.String({ pattern: '^[0-9A-F]{2,64}$' }),
  name: Type.String(),
  role: Type.Union([Type.Literal('link'), Type.Literal('agent')]),
  hosts: Type.Array(Type.String()),
  /** The SHA-256 of the certificate, with colons. */
  fingerprint: Type.String(),
  created: Type.String(),
  expires: Type.String(),
  /** When the certificate was revoked. */
  revoked: Type.Optional(Type.String()),
})
export type IssuedCertificate = Static<typeof IssuedCertificate>

export type CertificateRequest = { name: string; role: IssuedRole; hosts: readonly string[]; days: number }

/** Creates a certificate for a link or an agent, and stores that it was created. Throws a `SetupError`. */
export async function issueCertificate(home: string, request: CertificateRequest) {
  requireValid(request)
  const { name, role, hosts, days } = request
  const authority = await gatewayAuthority(home)
  if ((await listCertificates(home)).length >= certificateLimits.certificates)
    throw new SetupError(
      `The gateway has reached its limit of ${certificateLimits.certificates} certificates: delete files of expired certificates in ${folderOf(home)}.`,
    )
  const to = new Date(
    Math.min(Date.now() + days * dayMs, Date.parse(new X509Certificate(authority.certificate).validTo)),
  )
  const created: CertificateWithKey = createCertificate({
    authority,
    subject: { name, unit: role },
    hosts,
    usages: role === 'link' ? ['server', 'client'] : ['client'],
    validity: { to },
  })
  const { serialNumber: serial, fingerprint256: fingerprint } = new X509Certificate(created.certificate)
  const issued = { serial, name, role, hosts: [...hosts], fingerprint }
  const times = { created: new Date().toISOString(), expires: to.toISOString() }
  const stored: IssuedCertificate = { ...issued, ...times }
  await store(home, stored)
  return { ...created, authority: authority.certificate, issued: stored }
}

/** Throws a `SetupError` if a certificate cannot be created for the request. */
export function requireValid({ name, role, hosts, days }: CertificateRequest): void {
  const { days: limits, hosts: mostHosts, name: longest } = certificateLimits
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) || name.length > longest)
    throw new SetupError(
      `"${name}" is not a valid name: use at most ${longest} letters, digits, dots, hyphens and underscores. For a link, the name is its id.`,
    )
  const wrong = hosts.find((host) => !isCertificateHost(host) || host.includes('*'))
  if (wrong !== undefined) throw new SetupError(`"${wrong}" is not a DNS name or an IP address.`)
  if (hosts.length > mostHosts) throw new SetupError(`A certificate has at most ${mostHosts} hosts.`)
  if (role === 'link' && hosts.length === 0)
    throw new SetupError('A link needs the DNS name or the IP address at which the gateway reaches it: pass --host.')
  if (!Number.isInteger(days) || days < limits.minimum || days > limits.maximum)
    throw new SetupError(`A certificate is valid for ${limits.minimum} to ${limits.maximum} days.`)
}

/** Returns all certificates, the newest first. */
export async function listCertificates(home: string): Promise<IssuedCertificate[]> {
  const names = await readdir(folderOf(home)).catch(({ code }: NodeJS.ErrnoException) => {
    if (code === 'ENOENT') return []
    throw new SetupError(`${folderOf(home)} cannot be read (${code}): run the command as the user of the gateway.`)
  })
  const texts = await Promise.all(
    names.filter((name) => name.endsWith('.json')).map((name) => readIfExists(join(folderOf(home), name))),
  )
  return texts
    .flatMap((text) => parsed(text) ?? [])
    .toSorted((a, b) => (a.created < b.created ? 1 : a.created > b.created ? -1 : 0))
}

/**
 * Revokes a certificate by its serial number, or all certificates of a name. Returns the revoked certificates. A running
 * gateway ends their connections within about one second.
 */
export async function revokeCertificates(home: string, nameOrSerial: string): Promise<IssuedCertificate[]> {
  const all = await listCertificates(home)
  const meant = all.filter(({ name, serial }) => name === nameOrSerial || serial === nameOrSerial.toUpperCase())
  const revoked = new Date().toISOString()
  const changed = meant.filter((one) => one.revoked === undefined).map((one) => ({ ...one, revoked }))
  for (const one of changed) await store(home, one)
  return meant.map((one) => changed.find(({ serial }) => serial === one.serial) ?? one)
}

/**
 * Returns a certificate by its serial number. Reads the file each time, so that a revocation applies at once. The function is
 * synchronous, because the file is small and the check must be complete before a call is served.
 */
export function findCertificate(home: string, serial: string): IssuedCertificate | undefined {
  if (!/^[0-9A-F]{2,64}$/.test(serial)) return undefined
  try {
    return parsed(readFileSync(join(folderOf(home), `${serial}.json`), 'utf8'))
  } catch {
    return undefined
  }
}

export function folderOf(home: string): string {
  return join(home, tlsFolderName, certificatesFolderName)
}

async function store(home: string, issued: IssuedCertificate): Promise<void> {
  const folder = await tlsFolder(home, certificatesFolderName)
  await writeDurably(join(folder, `${issued.serial}.json`), `${JSON.stringify(issued, null, 2)}\n`)
}

function parsed(text: string | undefined): IssuedCertificate | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '')
    return Value.Check(IssuedCertificate, value) ? value : undefined
  } catch {
    return undefined
  }
}
