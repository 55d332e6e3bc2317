import type { Command } from 'commander'
import { formatCount } from '../output/text.ts'
import type { Session } from '../session/session.ts'

export type DeleteOptions = { recursive?: boolean; yes?: boolean }

export function withDeleteOptions(command: Command): Command {
  return command
    .option('--recursive', 'also delete all nodes below')
    .option('--yes', 'do not ask for confirmation of --recursive')
}

type Deletion = { data: { deletedNodes: number; remainingRelations: number } }

/**
 * Prints the result of a deletion and, if relations to deleted nodes remain, the command that deletes these relations.
 */
export async function printDeletion({ output, terminal }: Session, id: string, answer: Deletion): Promise<void> {
  const { deletedNodes, remainingRelations } = answer.data
  await output.done(`${id} deleted, ${formatCount(deletedNodes, 'node')} in total`, answer)
  if (remainingRelations === 0) return
  const remaining =
    remainingRelations === 1
      ? '1 relation of an asset to a deleted node remains. To delete it'
      : `${remainingRelations} relations of assets to deleted nodes remain. To delete them`
  terminal.note(`${remaining}: millwright hierarchy cleanup ${id}`)
}
