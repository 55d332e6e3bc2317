import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { authorityIn, pemCertificatesIn } from '@millwright/api/certificate-authority.ts'
import { usageError } from '../output/error-report.ts'

/** Reads the certificates of an authority from a PEM file. */
export async function readAuthority(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw usageError(`The authority ${file} cannot be read (${code}).`, 'check the path of the file')
  })
  const authority = authorityIn(text)
  if (authority !== undefined) return authority
  throw usageError(
    `${file} is not a certificate in PEM format.`,
    'use the file authority.pem of millwright tls create, or the certificate of the authority of your company',
  )
}

/** Returns the authority that `millwright tls create` created in a home. Returns undefined if there is none. */
export async function authorityOfHome(home: string): Promise<string | undefined> {
  return readAuthority(join(home, 'tls', 'authority.pem')).catch(() => undefined)
}

/** Accepts certificates of an authority for all connections of this command, in addition to the public authorities. */
export function trustAuthority(pem: string | undefined): void {
  if (pem === undefined) return
  const trusted = getCACertificates('default')
  const missing = pemCertificatesIn(pem).filter((certificate) => !trusted.includes(certificate))
  if (missing.length > 0) setDefaultCACertificates([...trusted, ...missing])
}
