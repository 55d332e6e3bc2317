/** The parts of names that the map leaves out, because all names of a group have them. */

/** The number of characters that all names inside a group have in common, at the start and at the end. */
export type CommonParts = { start: number; end: number }

/** Returns the names of groups or assets, without those that have none. */
export function namesOf(items: readonly { name?: string | undefined }[] = []): string[] {
  return items.flatMap(({ name }) => name || [])
}

/** Returns the parts that all names have in common. A part ends at a separator, and something of each name is left. */
export function commonParts(names: readonly string[]): CommonParts {
  const [first = '', ...others] = names
  if (others.length === 0) return { start: 0, end: 0 }
  const shortest = Math.min(...names.map((name) => name.length))
  let start = 0
  while (start < shortest && others.every((name) => name[start] === first[start])) start++
  while (start > 0 && !isSeparator(first[start - 1])) start--
  let end = 0
  const last = (name: string) => name[name.length - 1 - end]
  while (start + end < shortest - 1 && others.every((name) => last(name) === last(first))) end++
  while (end > 0 && !isSeparator(first[first.length - end])) end--
  return { start, end }
}

export function isSeparator(character: string | undefined): boolean {
  return character !== undefined && '-_'.includes(character)
}

/** Returns a name without the parts that all names inside the group have in common. */
export function distinctName(name: string, { start, end }: CommonParts): string {
  return name.slice(start, name.length - end) || name
}
