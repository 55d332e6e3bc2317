import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { Command } from 'commander'
import { assetId } from '../input/lookup.ts'
import { CommandError, exitCodes } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { sanitize } from '../output/text.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { type TraversalOptions, traversalQuery, withTraversalOptions } from './graph.ts'
import type { GraphNode } from './graph-formats.ts'

export function addCommands(path: Command, terminal: Terminal): void {
  platformCommand(
    withTraversalOptions(path.argument('<from>', 'id or name').argument('<to>', 'id or name')),
    terminal,
    find,
  )
}

async function find(session: Session, from: string, to: string, options: TraversalOptions): Promise<void> {
  const [id, other] = [await assetId(session, from), await assetId(session, to)]
  const answer = await session
    .api(inventory)
    .readPath({ params: { id }, query: { ...traversalQuery(options), to: other } })
  const { found, nodes, edges, truncated } = answer.data
  if (!session.output.isText) await session.output.show(answer)
  if (!found) {
    const detail = truncated ? ' The search stopped early: too many relations.' : ''
    throw new CommandError(`No path found from ${from} to ${to}.${detail}`, {
      exitCode: exitCodes.notFound,
    })
  }
  if (!session.output.isText) return
  const name = (node: GraphNode | undefined) => sanitize(node?.name ?? node?.id ?? '')
  await session.terminal.print(name(nodes[0]))
  for (const [index, { subject, predicate }] of edges.entries()) {
    const isForward = subject.id === nodes[index]?.id
    await session.terminal.print(
      `  ${isForward ? `─ ${sanitize(predicate)} →` : `← ${sanitize(predicate)} ─`} ${name(nodes[index + 1])}`,
    )
  }
}
