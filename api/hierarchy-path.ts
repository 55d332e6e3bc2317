/**
 * The text form of the path of a node: the names from the top level, separated by `/`. A `/` in a name is written twice.
 */
const separator = '/'

export function joinPath(names: readonly string[]): string {
  return names.map((name) => name.replaceAll(separator, separator + separator)).join(separator)
}

export function splitPath(path: string): string[] {
  const names: string[] = []
  let name = ''
  for (let at = 0; at < path.length; at++) {
    if (path[at] !== separator) name += path[at]
    else if (path[at + 1] === separator) {
      name += separator
      at += 1
    } else {
      names.push(name)
      name = ''
    }
  }
  return [...names, name]
}
