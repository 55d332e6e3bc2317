import type { Command } from 'commander'
import type { Terminal } from '../output/terminal.ts'
import { addChanges } from './asset-changes.ts'
import { addCreation } from './asset-creation.ts'
import { addIdentity } from './asset-identity.ts'
import { addQueries } from './asset-queries.ts'

export function addCommands(assets: Command, terminal: Terminal): void {
  addQueries(assets, terminal)
  addCreation(assets, terminal)
  addChanges(assets, terminal)
  addIdentity(assets, terminal)
}
