import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { root as ownRoot } from '../checks.ts'
import { type ArchiveEntry, fileEntry, folderEntries } from './archive-entry.ts'
import { type PackedArchive, packArchive, versionOf } from './pack-archive.ts'

export type PlatformArchiveOptions = {
  /** The repository, with installed dependencies. */
  root: string
  output: string
  signingKey?: string | undefined
}

type GatewayPackage = {
  /** The archive of the gateway, which the platform serves to new gateways. */
  gateway?: PackedArchive | undefined
}

/**
 * Builds the archive of the platform: command line, platform, gateway, links, PostgreSQL, the built console and the
 * documentation.
 */
export async function packPlatform({
  root,
  output,
  signingKey,
  gateway,
}: PlatformArchiveOptions & GatewayPackage): Promise<PackedArchive> {
  return packArchive({
    root,
    product: 'millwright',
    version: versionOf(root),
    workspaces: ['cli'],
    // The API reference is one file of openapi-explorer, which contains all its dependencies.
    bundled: ['web', 'openapi-explorer'],
    entries: [
      ...consoleEntries(root),
      ...documentationEntries(root),
      ...deploymentEntries(),
      ...sharedEntries(root),
      ...gatewayEntries(gateway),
    ],
    output,
    signingKey,
  })
}

/** Returns the scripts that install and start an archive. They are those of this version, also for an older release. */
export function deploymentEntries(): ArchiveEntry[] {
  const folder = join(ownRoot, 'deploy')
  return [
    ...folderEntries('', folder, () => true),
    // A folder does not list files whose name starts with a dot.
    fileEntry('.dockerignore', join(folder, '.dockerignore')),
    { path: 'bin/millwright-platform', target: 'millwright' },
    { path: 'bin/millwright-gateway', target: 'millwright' },
  ]
}

/** Returns the archive of the gateway and its checksum, in the folder from which the platform serves them. */
function gatewayEntries(gateway: PackedArchive | undefined): ArchiveEntry[] {
  if (gateway === undefined) return []
  return [gateway.file, `${gateway.file}.sha256`].map((file) => fileEntry(`app/dist/${basename(file)}`, file))
}

/** Returns the files outside the workspaces that programs import. */
function sharedEntries(root: string): ArchiveEntry[] {
  return ['architecture.ts', 'tools/node24.mjs'].map((name) => fileEntry(`app/${name}`, join(root, name)))
}

/** Builds the console and returns its files. The platform serves them, and does not need the sources of the console. */
function consoleEntries(root: string): ArchiveEntry[] {
  execFileSync(process.execPath, ['web/build.ts'], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  const web = join(root, 'web')
  const build = readFileSync(join(web, 'dist/current'), 'utf8')
  return [
    ...['package.json', 'console-stamp.ts', 'dist/current'].map((name) =>
      fileEntry(`app/web/${name}`, join(web, name)),
    ),
    ...folderEntries(`app/web/dist/${build}`, join(web, 'dist', build), () => true),
  ]
}

/** Returns the documentation that the platform serves, and the changelog. */
function documentationEntries(root: string): ArchiveEntry[] {
  return [
    ...folderEntries('app/docs', join(root, 'docs'), () => true),
    ...globSync('*.md', { cwd: root }).map((name) => fileEntry(`app/${name}`, join(root, name))),
    fileEntry('CHANGELOG.md', join(root, 'CHANGELOG.md')),
  ]
}
