/** Something to jump to or to do, found by typing. */
export type Command = { id: string; label: string; hint: string; icon?: string; run: () => unknown }

/** The commands that have every typed word, those first whose own name begins with them. */
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
