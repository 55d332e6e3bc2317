import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ArchiveEntry, fileEntry, textEntry } from './archive-entry.ts'
import { buildTime, currentCommit } from './build-time.ts'
import { type ClosureOptions, dependencyClosure, platformName } from './dependency-closure.ts'
import { requireImports } from './imports.ts'
import { type LicensedComponent, licensedPackage, noticesOf } from './licenses.ts'
import { nodeComponent, postgresComponents } from './runtime-components.ts'
import { sbomOf } from './sbom.ts'
import { signatureOf } from './signature.ts'
import { closureEntries } from './sources.ts'
import { writeTarGz } from './tar-gz.ts'

export type PackOptions = Pick<ClosureOptions, 'workspaces' | 'packages'> & {
  /** The repository, with installed dependencies. */
  root: string
  /** The name of the product in file names, such as `millwright`. */
  product: string
  version: string
  /** Further entries of the archive, such as scripts and built files. */
  entries: readonly ArchiveEntry[]
  /**
   * Workspaces and packages whose dependencies are part of built files. The dependencies are in the SBOM and the notices,
   * but are not copied. The sources of these workspaces are not copied either.
   */
  bundled?: readonly string[]
  /** The folder for the archive and the files next to it. */
  output: string
  /** The file of the private key for the signature. */
  signingKey?: string | undefined
}

export type PackedArchive = { file: string; sha256: string }

/**
 * Writes the archive `<product>-<version>-linux-x64.tar.gz` with its own Node, and next to it the checksum, the SBOM, the
 * third-party notices and, with a key, the signature. The layout is:
 *
 *     node/bin/node                   the Node binary
 *     app/                            workspaces and packages, with the same paths as in the repository
 *     release.json                    version, commit and platform
 *     sbom.cdx.json, THIRD-PARTY-NOTICES.txt
 *
 * The same commit gives the same bytes.
 */
export async function packArchive(options: PackOptions): Promise<PackedArchive> {
  const { root, product, version, output, signingKey, bundled = [] } = options
  const time = buildTime(root)
  const name = `${product}-${version}-${platformName}`
  const closure = dependencyClosure(root, { ...options, withoutDependencies: bundled })
  const components = componentsOf(options)
  const sbom = sbomOf({ name: product, version, time, components })
  const notices = noticesOf(`${product} ${version}`, components)
  const release = { product, version, platform: platformName, commit: currentCommit(root), time }
  const entries = [
    ...closureEntries(root, closure, bundled),
    ...options.entries,
    fileEntry('node/bin/node', join(root, nodePackage, 'bin', 'node')),
    fileEntry('LICENSE', join(root, 'LICENSE')),
    fileEntry('app/package.json', join(root, 'package.json')),
    textEntry('app/release.json', `${JSON.stringify(release, undefined, 2)}\n`),
    textEntry('sbom.cdx.json', sbom),
    textEntry('THIRD-PARTY-NOTICES.txt', notices),
  ]
  requireUniquePaths(entries)
  requireImports(entries)
  mkdirSync(output, { recursive: true })
  const file = join(output, `${name}.tar.gz`)
  const sha256 = await writeTarGz(entries, { folder: name, time, output: file })
  writeFileSync(`${file}.sha256`, `${sha256}  ${name}.tar.gz\n`)
  writeFileSync(join(output, `${name}.sbom.cdx.json`), sbom)
  writeFileSync(join(output, `${name}.THIRD-PARTY-NOTICES.txt`), notices)
  // An old signature would not fit the new archive.
  rmSync(`${file}.sig`, { force: true })
  if (signingKey !== undefined) writeFileSync(`${file}.sig`, signatureOf(file, signingKey))
  return { file, sha256 }
}

const nodePackage = `node_modules/node-${platformName}`

/** Returns the components of other projects in the archive, sorted by name and version. */
function componentsOf({ root, ...options }: PackOptions): LicensedComponent[] {
  const complete = dependencyClosure(root, options)
  const components = new Map<string, LicensedComponent>()
  for (const each of complete.packages) {
    const component = licensedPackage(root, each)
    components.set(component.purl, component)
    for (const part of postgresComponents(each)) components.set(part.purl, part)
  }
  const node = nodeComponent(root, nodePackage)
  components.set(node.purl, node)
  return [...components.values()].toSorted((one, other) => (one.purl < other.purl ? -1 : 1))
}

function requireUniquePaths(entries: readonly ArchiveEntry[]): void {
  const seen = new Set<string>()
  for (const { path } of entries) {
    if (seen.has(path)) throw new Error(`Two entries of the archive have the path ${path}.`)
    seen.add(path)
  }
}

/** Returns the version of the product in a repository. */
export function versionOf(root: string): string {
  const file = join(root, 'package.json')
  if (!existsSync(file)) throw new Error(`${root} does not contain the product.`)
  const { version }: { version: string } = JSON.parse(readFileSync(file, 'utf8'))
  return version
}
