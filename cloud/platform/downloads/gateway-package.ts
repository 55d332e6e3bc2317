import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Problem } from '@millwright/api/problem.ts'
import { productVersion } from '../version.ts'

/** The archive of the gateway for the version of this platform, and the script that installs it. */
export type GatewayPackage = {
  version: string
  /** The path of the archive. */
  file: string
  bytes: number
  /** The SHA-256 of the archive, as the packer wrote it next to the archive. */
  sha256: string
  /** The text of the script. It contains the SHA-256 of the archive. */
  installer: string
  installerSha256: string
}

/** The name of the archive. It is also the last part of its address. */
export const packageName = `gateway-${productVersion}-linux-x64.tar.gz`

/** The folder in which `npm run package` writes its archives. In an installed platform it contains the gateway package. */
export const packageFolder = resolve(import.meta.dirname, '../../../dist')

const template = new URL('./install-gateway.sh', import.meta.url)

/**
 * Reads the gateway package in a folder. The files are read for each call, so that the platform serves a new package without
 * a restart. Throws `package_not_built` if the archive or its checksum does not exist.
 */
export async function readGatewayPackage(folder: string): Promise<GatewayPackage> {
  const file = join(folder, packageName)
  try {
    const [{ size: bytes }, checksum, script] = await Promise.all([
      stat(file),
      readFile(`${file}.sha256`, 'utf8'),
      readFile(template, 'utf8'),
    ])
    const [, sha256] = /^([0-9a-f]{64}) [ *]/.exec(checksum) ?? []
    if (sha256 === undefined) throw notBuilt()
    const installer = script.replaceAll('@VERSION@', productVersion).replaceAll('@SHA256@', sha256)
    const installerSha256 = createHash('sha256').update(installer).digest('hex')
    return { version: productVersion, file, bytes, sha256, installer, installerSha256 }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw code === 'ENOENT' || code === 'ENOTDIR' ? notBuilt(error) : error
  }
}

function notBuilt(cause?: unknown): Problem {
  return new Problem(
    'package_not_built',
    `This platform does not contain the gateway package of version ${productVersion}. To build the package, run "npm run package" in the folder of the platform`,
    { cause },
  )
}
