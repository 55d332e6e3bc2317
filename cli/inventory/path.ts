import { inventory } from '@millwright/api/inventory.ts'
import type { Command } from 'commander'
import { assetId } from '../input/lookup.ts'
import { CommandError, exitCodes } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { plain } from '../output/text.ts'
import { online } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { alongWay, type Way, wayQuery } from './graph.ts'
import type { GraphNode } from './graph-formats.ts'

export function addCommands(path: Command, terminal: Terminal): void {
  online(alongWay(path.argument('<from>', 'id or name').argument('<to>', 'id or name')), terminal, find)
}

async function find(session: Session, from: string, to: string, options: Way): Promise<void> {
  const [id, other] = [await assetId(session, from), await assetId(session, to)]
  const answer = await session.api(inventory).readPath({ params: { id }, query: { ...wayQuery(options), to: other } })
  const { found, nodes, edges, truncated } = answer.data
  if (!session.output.isText) await session.output.show(answer)
  if (!found) {
    const detail = truncated ? ' The search was given up: there may be one.' : ''
    throw new CommandError(`There is no way from ${from} to ${to} that you may see.${detail}`, {
      exitCode: exitCodes.notFound,
    })
  }
  if (!session.output.isText) return
  const name = (node: GraphNode | undefined) => plain(node?.name ?? node?.id ?? '')
  await session.terminal.print(name(nodes[0]))
  for (const [index, { subject, predicate }] of edges.entries()) {
    const isForward = subject.id === nodes[index]?.id
    await session.terminal.print(
      `  ${isForward ? `─ ${plain(predicate)} →` : `← ${plain(predicate)} ─`} ${name(nodes[index + 1])}`,
    )
  }
}
