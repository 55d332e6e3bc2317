import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Computes which packages of `package-lock.json` a set of workspaces needs at run time. Development dependencies are never
 * part of the closure. An optional package is part of it only if it is for the platform of the archive.
 */

/** The platform that the programs in an archive are compiled for. */
export const platform = { os: 'linux', cpu: 'x64', libc: 'glibc' } as const
export const platformName = `${platform.os}-${platform.cpu}`

/** An entry of `packages` in `package-lock.json`. */
type LockEntry = {
  version: string
  /** The folder of a workspace, if the entry is a link. */
  resolved?: string
  link?: boolean
  integrity?: string
  hasInstallScript?: boolean
  os?: string | string[]
  cpu?: string | string[]
  libc?: string | string[]
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
}

type LockFile = { packages: Record<string, LockEntry> }

/** `ThirdPartyPackage` is an installed package of another project. */
export type ThirdPartyPackage = {
  name: string
  version: string
  /** The path of its folder, relative to the root, such as `node_modules/pg`. */
  folder: string
  /** The hash of its package on the registry, in the form of Subresource Integrity. */
  integrity: string | undefined
}

export type DependencyClosure = {
  /** The folders of the workspaces. */
  workspaces: string[]
  packages: ThirdPartyPackage[]
}

export type ClosureOptions = {
  /** The folders of the workspaces that the closure starts from. */
  workspaces: readonly string[]
  /** Further packages by name, which are resolved from the root. */
  packages?: readonly string[]
  /** Names of packages and workspaces whose own dependencies are left out, because they are part of built files. */
  withoutDependencies?: readonly string[]
}

export function dependencyClosure(root: string, options: ClosureOptions): DependencyClosure {
  const { workspaces, packages = [], withoutDependencies = [] } = options
  const lock: LockFile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const visited = new Set<string>()
  const visit = (path: string) => {
    if (visited.has(path)) return
    visited.add(path)
    const entry = lock.packages[path]
    if (entry === undefined) throw new Error(`package-lock.json does not contain ${path}.`)
    if (withoutDependencies.includes(nameOf(path))) return
    const targets = entry.link ? [entry.resolved ?? ''] : targetsOf(lock, path, entry)
    for (const target of targets) visit(target)
  }
  for (const workspace of workspaces) visit(workspace)
  for (const name of packages) visit(`node_modules/${name}`)
  const paths = [...visited].toSorted()
  return {
    workspaces: paths.filter((path) => !path.includes('node_modules/')),
    packages: paths
      .filter((path) => path.includes('node_modules/') && !lock.packages[path]?.link)
      .map((path) => installedPackage(root, path, lock.packages[path] as LockEntry)),
  }
}

/** Returns the paths of the packages that an entry needs at run time. */
function targetsOf(lock: LockFile, from: string, entry: LockEntry): string[] {
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = entry
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true)
  const names = new Set([...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers])
  return [...names].flatMap((name) => {
    const path = resolvedPath(lock, from, name)
    const isOptional = name in optionalDependencies
    if (path === undefined) {
      if (isOptional) return []
      throw new Error(`package-lock.json does not contain ${name}, which ${from} needs.`)
    }
    return isOptional && !isUsableOptional(lock.packages[path] as LockEntry) ? [] : [path]
  })
}

/** Finds a package as Node does: in the folder `node_modules` of the importer, then in those of its parent folders. */
function resolvedPath({ packages }: LockFile, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.includes('/') ? folder.slice(0, folder.lastIndexOf('/')) : '') {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`
    if (packages[path] !== undefined) return path
    if (folder === '') return undefined
  }
}

/**
 * Returns whether an optional package works in the archive. A package that is for one platform must fit. A package
 * that compiles itself during the installation is left out, because its users work without it.
 */
function isUsableOptional({ os, cpu, libc, hasInstallScript }: LockEntry): boolean {
  if (os === undefined && cpu === undefined) return hasInstallScript !== true
  return fits(os, platform.os) && fits(cpu, platform.cpu) && fits(libc, platform.libc)
}

function fits(allowed: string | string[] | undefined, value: string): boolean {
  if (allowed === undefined) return true
  const values = [allowed].flat()
  return values.includes(value) || (values.every((each) => each.startsWith('!')) && !values.includes(`!${value}`))
}

function installedPackage(root: string, folder: string, { version, integrity }: LockEntry): ThirdPartyPackage {
  const file = join(root, folder, 'package.json')
  const installed = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : undefined
  if (installed !== version)
    throw new Error(
      `${folder} must have version ${version}, but ${installed === undefined ? 'is not installed' : `has version ${installed}`}: run "npm ci".`,
    )
  return { name: nameOf(folder), version, folder, integrity }
}

/** Returns the name of a package from its path, and the folder of a workspace. */
function nameOf(path: string): string {
  return path.split('node_modules/').at(-1) ?? path
}
