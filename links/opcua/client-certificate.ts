import { X509Certificate } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { ClientSecureChannelLayerOptions } from 'node-opcua-client'
import type { Library } from './library.ts'

/** `ClientCertificate` is the certificate with which the link identifies itself to servers on secured channels. */
export type ClientCertificate = {
  applicationUri: string
  der: Buffer
  key: { hidden: string }
  /** The certificate in the form that the library needs. */
  provider: NonNullable<ClientSecureChannelLayerOptions['parent']>
}

const validDays = 20 * 365

const loaded = new Map<string, Promise<ClientCertificate>>()

/**
 * Returns the certificate of the link. It is stored in the home of the link, so that servers can trust it permanently.
 * Without a home, the certificate exists in memory until the process ends.
 */
export function clientCertificate(library: Library, folder = ''): Promise<ClientCertificate> {
  const known = loaded.get(folder)
  if (known !== undefined) return known
  const loading = (folder === '' ? create(library) : read(library, folder)).then(certificateOf)
  loaded.set(folder, loading)
  loading.catch(() => loaded.delete(folder))
  return loading
}

type PemPair = { certificate: string; key: string }

async function read(library: Library, folder: string): Promise<PemPair> {
  const [certificateFile, keyFile] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')]
  try {
    const stored = await Promise.all([readFile(certificateFile, 'utf8'), readFile(keyFile, 'utf8')])
    return { certificate: stored[0], key: stored[1] }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unusable(folder, error)
  }
  const created = await create(library)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeFile(keyFile, created.key, { mode: 0o600 })
    await writeFile(certificateFile, created.certificate, { mode: 0o644 })
  } catch (error) {
    throw unusable(folder, error)
  }
  return created
}

function unusable(folder: string, error: unknown): LinkError {
  const reason = error instanceof Error ? error.message : String(error)
  return new LinkError(
    'FAILED_PRECONDITION',
    `The folder ${folder} for the client certificate cannot be used (${reason}). Check the home of the link.`,
    { cause: error },
  )
}

async function create(library: Library): Promise<PemPair> {
  const { generatePrivateKey, privateKeyToPEM, createSelfSignedCertificate, CertificatePurpose } = library.crypto_utils
  const privateKey = await generatePrivateKey(2048)
  const { privPem } = await privateKeyToPEM(privateKey)
  const { cert } = await createSelfSignedCertificate({
    privateKey,
    subject: '/CN=Millwright OPC UA link',
    dns: [hostname()],
    applicationUri: `urn:${hostname()}:millwright:links:opcua`,
    notBefore: new Date(Date.now() - 24 * 3_600_000),
    validity: validDays,
    purpose: CertificatePurpose.ForApplication,
  })
  return { certificate: cert, key: privPem }
}

function certificateOf({ certificate, key: privateKey }: PemPair): ClientCertificate {
  const { raw: der, subjectAltName = '' } = new X509Certificate(certificate)
  // Servers compare this URI with the certificate, which may have been created under another host name.
  const [, applicationUri = ''] = /URI:([^,]+)/.exec(subjectAltName) ?? []
  const key = { hidden: privateKey }
  const provider = { getCertificate: () => der, getCertificateChain: () => [der], getPrivateKey: () => key }
  return { applicationUri, der, key, provider }
}
