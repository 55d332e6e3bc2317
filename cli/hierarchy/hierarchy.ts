import type { Command } from 'commander'
import type { Terminal } from '../output/terminal.ts'
import { addAssignments } from './assignments.ts'
import { addExchange } from './exchange.ts'
import { addHierarchies } from './hierarchies.ts'
import { addNodeAssets } from './node-assets.ts'
import { addNodes } from './nodes.ts'
import { addRules } from './rules.ts'

export function addCommands(hierarchy: Command, terminal: Terminal): void {
  addHierarchies(hierarchy, terminal)
  addNodes(hierarchy, terminal)
  addNodeAssets(hierarchy, terminal)
  addAssignments(hierarchy, terminal)
  addRules(hierarchy, terminal)
  addExchange(hierarchy, terminal)
}
