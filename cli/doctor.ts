import type { Command } from 'commander'
import type { Terminal } from './terminal.ts'

export function addCommands(doctor: Command, _terminal: Terminal): void {
  doctor.action(() => {})
}
