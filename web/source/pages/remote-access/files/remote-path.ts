/** This file contains functions for absolute paths of a device. SFTP separates folders with `/` on every device. */

/** Returns the path of an entry of a folder. */
export function pathIn(folder: string, name: string): string {
  return folder.endsWith('/') ? `${folder}${name}` : `${folder}/${name}`
}

/** Returns the folder that contains a folder, or undefined for the root. */
export function parentOf(folder: string): string | undefined {
  const path = folder.replace(/\/+$/, '')
  const end = path.lastIndexOf('/')
  if (end < 0) return undefined
  return end === 0 ? '/' : path.slice(0, end)
}

/** Returns the folders of a path with their names, from the root to the folder itself. */
export function foldersOf(folder: string): { name: string; path: string }[] {
  const names = folder.split('/').filter((name) => name !== '')
  const isAbsolute = folder.startsWith('/')
  const start = isAbsolute ? [{ name: '/', path: '/' }] : []
  const rest = names.map((name, index) => ({
    name,
    path: `${isAbsolute ? '/' : ''}${names.slice(0, index + 1).join('/')}`,
  }))
  return [...start, ...rest]
}
