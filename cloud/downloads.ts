import { packageName, readGatewayPackage } from './platform/downloads/gateway-package.ts'
import type { Page } from './platform/http/pages.ts'

/**
 * Returns the files that a new gateway downloads: the archive of the gateway, its SHA-256, and the script that installs it.
 * They contain no secret, so no sign-in is necessary. The paths are fixed, so no request can name another file.
 */
export function downloadPages(folder: string): Page[] {
  const path = `/downloads/${packageName}`
  return [
    {
      path,
      async find() {
        const { file, bytes, sha256 } = await readGatewayPackage(folder)
        return { file, bytes, etag: `"${sha256}"`, mediaType: 'application/gzip' }
      },
    },
    {
      path: `${path}.sha256`,
      async answer() {
        const { sha256 } = await readGatewayPackage(folder)
        return text(`${sha256}  ${packageName}\n`)
      },
    },
    {
      path: '/downloads/install-gateway.sh',
      async answer() {
        const { installer } = await readGatewayPackage(folder)
        return text(installer)
      },
    },
  ]
}

function text(body: string) {
  return { body, headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache' } }
}
