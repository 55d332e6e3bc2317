/** Something to jump to or to do, found by typing. */
export type Command = { id: string; label: string; hint: string; icon?: string; run: () => unknown }

/** The commands that have every typed word, those first whose own name begins with them. */
export function fitting<Each extends Pick<Command, 'label' | 'hint'>>(
  commands: readonly Each[],
  typed: string,
): Each[] {
  const sought = typed.trim().toLowerCase()
  const words = sought.split(/\s+/)
  return commands
    .map((command) => ({ command, label: command.label.toLowerCase(), hint: command.hint.toLowerCase() }))
    .filter(({ label, hint }) => words.every((word) => label.includes(word) || hint.includes(word)))
    .toSorted((one, other) => distance(one.label, sought) - distance(other.label, sought))
    .map(({ command }) => command)
}

function distance(label: string, sought: string): number {
  if (label.startsWith(sought)) return 0
  return label.includes(sought) ? 1 : 2
}
