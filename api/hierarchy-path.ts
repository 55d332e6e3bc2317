/**
 * The text form of the path of a node: the names from the top level, separated by `/`. In a name, a backslash precedes each
 * `/` and each backslash.
 */
const separator = '/'
const escapeMark = '\\'

export function joinPath(names: readonly string[]): string {
  return names.map((name) => name.replaceAll(/[\\/]/g, `${escapeMark}$&`)).join(separator)
}

export function splitPath(path: string): string[] {
  const names: string[] = []
  let name = ''
  for (let at = 0; at < path.length; at++) {
    const character = path[at] ?? ''
    if (character === escapeMark && at + 1 < path.length) {
      at += 1
      name += path[at]
    } else if (character === separator) {
      names.push(name)
      name = ''
    } else name += character
  }
  return [...names, name]
}
