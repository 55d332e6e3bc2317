import { randomUUID, X509Certificate } from 'node:crypto'
import { chown, link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { hostname, networkInterfaces } from 'node:os'
import { join } from 'node:path'
import {
  type CertificateWithKey,
  createAuthority,
  createCertificate,
  isCertificateHost,
} from '@millwright/api/certificates.ts'
import { gatewayTlsName } from '@millwright/api/link-tls.ts'
import { readIfExists, syncFolder } from '../durable-file.ts'
import { SetupError } from '../setup-error.ts'

/** The folder of the authority in the home of the gateway. */
export const tlsFolderName = 'tls'

const authorityFileName = 'authority.pem'

/** The validity of an authority. */
const authorityYears = 10

const pemPattern = (label: string) => new RegExp(`-----BEGIN ${label}-----[\\s\\S]+?-----END ${label}-----\\n?`)

/**
 * Returns the authority of the gateway, and creates it on first use. One file contains its certificate and its key, so that
 * two programs that create it at the same time use the same one.
 */
export async function gatewayAuthority(home: string): Promise<CertificateWithKey> {
  const folder = await tlsFolder(home)
  const file = join(folder, authorityFileName)
  const text = (await readIfExists(file)) ?? (await createFile(file))
  const [certificate, key] = [pemPattern('CERTIFICATE').exec(text)?.[0], pemPattern('PRIVATE KEY').exec(text)?.[0]]
  if (certificate === undefined || key === undefined)
    throw new SetupError(
      `${file} does not contain a certificate and a key: restore it from a backup. If you delete it, all links and agents on other machines need new certificates.`,
    )
  const { validTo } = new X509Certificate(certificate)
  if (Date.parse(validTo) <= Date.now())
    throw new SetupError(
      `The authority of the gateway expired at ${validTo}: delete ${file}, start again, and create new certificates for links and agents on other machines.`,
    )
  return { certificate, key }
}

/** Creates the folder for TLS files. If root creates it, it gets the owner of the home. */
export async function tlsFolder(home: string, ...names: string[]): Promise<string> {
  let folder = home
  await mkdir(home, { recursive: true, mode: 0o700 })
  for (const name of [tlsFolderName, ...names]) {
    folder = join(folder, name)
    const created = await mkdir(folder, { recursive: true, mode: 0o700 })
    if (created !== undefined && process.getuid?.() === 0) await giveToOwnerOf(home, folder)
  }
  return folder
}

async function giveToOwnerOf(home: string, path: string): Promise<void> {
  const { uid, gid } = await stat(home)
  await chown(path, uid, gid)
}

/** Creates the file of the authority. Returns the content of the file, which another program may have created. */
async function createFile(file: string): Promise<string> {
  const to = new Date()
  to.setUTCFullYear(to.getUTCFullYear() + authorityYears)
  const authority = createAuthority({
    subject: { name: `Millwright gateway on ${hostname()}`.slice(0, 64) },
    validity: { to },
  })
  const temporary = `${file}.${randomUUID()}.new`
  await writeFile(temporary, `${authority.certificate}${authority.key}`, { mode: 0o600, flush: true })
  try {
    if (process.getuid?.() === 0) await giveToOwnerOf(join(file, '..'), temporary)
    await link(temporary, file)
    await syncFolder(join(file, '..'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(temporary, { force: true })
  }
  return readFile(file, 'utf8')
}

/**
 * Creates the certificate of the gateway itself. It exists only in memory and is new at each start, so it contains the
 * current names and addresses of the machine, and its key is never stored.
 */
export function gatewayCertificate(authority: CertificateWithKey, names: readonly string[]): CertificateWithKey {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address))
  const hosts = [gatewayTlsName, 'localhost', hostname(), ...names, ...addresses]
  return createCertificate({
    authority,
    subject: { name: gatewayTlsName, unit: 'gateway' },
    hosts: [...new Set(hosts)].filter((host) => isCertificateHost(host) && !['0.0.0.0', '::'].includes(host)),
    usages: ['server', 'client'],
    validity: { to: new Date(new X509Certificate(authority.certificate).validTo) },
  })
}
