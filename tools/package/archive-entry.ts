import { globSync, lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** `ArchiveEntry` is a file or a symbolic link in an archive. Folders are derived from the paths. */
export type ArchiveEntry =
  | { path: string; executable: boolean; read: () => Buffer }
  | { path: string /** The target of a symbolic link, relative to its folder. */; target: string }

export function fileEntry(path: string, file: string): ArchiveEntry {
  const executable = (lstatSync(file).mode & 0o100) !== 0
  return { path, executable, read: () => readFileSync(file) }
}

export function textEntry(path: string, text: string, { executable = false } = {}): ArchiveEntry {
  return { path, executable, read: () => Buffer.from(text) }
}

/** Returns entries for the files of a folder that `includes` accepts. Symbolic links on the disk are left out. */
export function folderEntries(path: string, folder: string, includes: (name: string) => boolean): ArchiveEntry[] {
  return globSync('**', {
    cwd: folder,
    withFileTypes: true,
    exclude: ({ name, parentPath }) => name === 'node_modules' && parentPath.startsWith(folder),
  })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter(includes)
    .map((name) => fileEntry(path === '' ? name : `${path}/${name}`, join(folder, name)))
}
