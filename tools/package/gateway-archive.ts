import { join } from 'node:path'
import { root as ownRoot } from '../checks.ts'
import { type ArchiveEntry, fileEntry, folderEntries } from './archive-entry.ts'
import { importedFiles } from './imports.ts'
import { type PackedArchive, packArchive, versionOf } from './pack-archive.ts'
import type { PlatformArchiveOptions } from './platform-archive.ts'
import { workspaceLink } from './sources.ts'

/**
 * Builds the archive of the gateway: gateway, links, and the commands for the machine of a gateway. It contains no
 * PostgreSQL, no console and no service of the platform. New gateways download it from the platform.
 */
export function packGateway({ root, output, signingKey }: PlatformArchiveOptions): Promise<PackedArchive> {
  return packArchive({
    root,
    product: 'gateway',
    version: versionOf(root),
    workspaces: ['gateway', 'links'],
    packages: ['commander'],
    entries: [...commandEntries(root), ...deploymentEntries()],
    output,
    signingKey,
  })
}

/** The workspaces of which the archive contains only the files that its commands import. */
const partial = ['cli', 'cloud', 'tools']

function commandEntries(root: string): ArchiveEntry[] {
  const files = importedFiles(root, ['cli/millwright.mjs', 'cli/gateway/gateway-main.ts'])
  const imported = files.filter((file) => partial.some((workspace) => file.startsWith(`${workspace}/`)))
  const manifests = ['cli/package.json', 'cloud/package.json']
  return [
    ...[...imported, ...manifests].map((file) => fileEntry(`app/${file}`, join(root, file))),
    workspaceLink(root, 'cloud'),
  ]
}

/** The scripts, settings and services in `deploy` that a gateway needs. */
const deploymentFile = /^bin\/|^install\.sh$|^readiness\.mjs$|(gateway|link)@?\.(env|service)$/

function deploymentEntries(): ArchiveEntry[] {
  return [
    ...folderEntries('', join(ownRoot, 'deploy'), (name) => deploymentFile.test(name)),
    { path: 'bin/millwright-gateway', target: 'millwright' },
  ]
}
