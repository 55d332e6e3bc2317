/** `Command` is an entry of the command palette: a page, an action or an asset. */
export type Command = { id: string; label: string; hint: string; icon?: string; run: () => unknown }

/**
 * Returns the commands whose label or hint contains every word of the search text. Commands whose label starts with the
 * search text come first.
 */
export function matchingCommands<Each extends Pick<Command, 'label' | 'hint'>>(
  commands: readonly Each[],
  typed: string,
): Each[] {
  const searchText = typed.trim().toLowerCase()
  const words = searchText.split(/\s+/)
  return commands
    .map((command) => ({ command, label: command.label.toLowerCase(), hint: command.hint.toLowerCase() }))
    .filter(({ label, hint }) => words.every((word) => label.includes(word) || hint.includes(word)))
    .toSorted((one, other) => matchRank(one.label, searchText) - matchRank(other.label, searchText))
    .map(({ command }) => command)
}

function matchRank(label: string, searchText: string): number {
  if (label.startsWith(searchText)) return 0
  return label.includes(searchText) ? 1 : 2
}
