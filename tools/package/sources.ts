import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type ArchiveEntry, folderEntries } from './archive-entry.ts'
import type { DependencyClosure, ThirdPartyPackage } from './dependency-closure.ts'

/** Files of the workspaces that only tests and the type checker use. The template of links contains a test for users. */
const developmentFiles = [
  /\.test\.tsx?$/,
  /\.d\.ts$/,
  /(^|\/|-)testing(\.ts$|\/)/,
  /-peer\.py$/,
  /\/segment(\.sh|-scan\.ts)$/,
  /^links\/(?!plant\/)[^/]+\/simulator(-[a-z]+)*\.ts$/,
]
const template = /^link-sdk\/template\//
/** Files of packages that no program reads: types, sources of compiled files, source maps and documentation. */
const unusedFile = /\.([cm]?ts|tsx|map|tsbuildinfo|flow|c|cc|cpp|h|hh|hpp|inl|inc|S|gyp|gypi|a|pc|exe|dll|patch)$/
const documentation = /\.(md|markdown)$/i
export const licenseFile = /^(licen[cs]e|copying|notice|unlicense|copyright)/i

/**
 * Returns the entries of the workspaces and packages, below `app/`, with the same paths as in the repository. The sources
 * of bundled workspaces are left out.
 */
export function closureEntries(
  root: string,
  { workspaces, packages }: DependencyClosure,
  bundled: readonly string[],
): ArchiveEntry[] {
  return [
    ...workspaces.filter((folder) => !bundled.includes(folder)).flatMap((folder) => workspaceEntries(root, folder)),
    ...workspaces.map((folder) => workspaceLink(root, folder)),
    ...packages.flatMap((each) => packageEntries(root, each)),
  ]
}

/** Returns the files of a workspace without its tests and built files. */
function workspaceEntries(root: string, folder: string): ArchiveEntry[] {
  return folderEntries(`app/${folder}`, join(root, folder), (name) => {
    const path = `${folder}/${name}`
    return template.test(path) || (!developmentFiles.some((pattern) => pattern.test(path)) && !name.startsWith('dist/'))
  })
}

/** Returns the link with which other workspaces import a workspace. */
export function workspaceLink(root: string, folder: string): ArchiveEntry {
  const { name }: { name: string } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
  const path = `node_modules/${name}`
  return { path: `app/${path}`, target: relative(join(path, '..'), folder) }
}

function packageEntries(root: string, { folder }: ThirdPartyPackage): ArchiveEntry[] {
  const files = folderEntries(`app/${folder}`, join(root, folder), (name) => {
    const isLicense = licenseFile.test(name)
    return isLicense || (!unusedFile.test(name) && !documentation.test(name))
  })
  return [...files, ...libraryLinks(root, folder)]
}

type LibraryLink = { source: string; target: string }

/**
 * Returns the links between the libraries of PostgreSQL. npm packages contain no links, so the package lists them in a
 * file, and the platform would otherwise create them at its first start.
 */
function libraryLinks(root: string, folder: string): ArchiveEntry[] {
  const list = join(root, folder, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return []
  const links: LibraryLink[] = JSON.parse(readFileSync(list, 'utf8'))
  const isLibrary = ({ target }: LibraryLink) => /\.so(\.\d+)*$/.test(target)
  return links.filter(isLibrary).map(({ source, target }) => ({
    path: `app/${folder}/${target}`,
    target: relative(join(target, '..'), source),
  }))
}
