import { inventory } from '@millwright/api/inventory/inventory.ts'
import { type Command, Option } from 'commander'
import { assetId } from '../input/lookup.ts'
import { wholeNumber } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { dot, mermaid, tree } from './graph-formats.ts'

type Direction = 'out' | 'in' | 'both'
export type TraversalOptions = { direction: Direction; predicates?: string; at?: string }
type Options = TraversalOptions & { depth: number; limit: number; dot?: boolean; mermaid?: boolean }

export function addCommands(graph: Command, terminal: Terminal): void {
  const command = withTraversalOptions(graph.argument('<asset>', 'id or name'))
    .option('--depth <count>', 'maximum number of relations from the asset', wholeNumber(1, 10), 2)
    .option('--limit <count>', 'maximum number of nodes', wholeNumber(1, 2000), 500)
    .addOption(
      new Option('--dot', 'print the DOT format of Graphviz: … --dot | dot -Tsvg > graph.svg').conflicts('mermaid'),
    )
    .option('--mermaid', 'print a Mermaid flowchart')
  platformCommand(command, terminal, draw).addHelpText(
    'after',
    `
Examples:
  millwright graph 'Rack 1'
  millwright graph 'Rack 1' --depth 5 --direction in --at 2026-01-31T08:30:00Z`,
  )
}

export function withTraversalOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--direction <direction>', 'direction of the relations to follow')
        .choices(['out', 'in', 'both'])
        .default('both'),
    )
    .option('--predicates <names>', 'predicates to follow, separated by commas')
    .option('--at <time>', 'point in time: 2026-01-31T08:30:00Z')
}

export function traversalQuery({ direction, predicates, at }: TraversalOptions) {
  return { direction, ...(predicates === undefined ? {} : { predicates }), ...(at === undefined ? {} : { at }) }
}

async function draw(session: Session, nameOrId: string, options: Options): Promise<void> {
  const id = await assetId(session, nameOrId)
  const { depth, limit } = options
  const answer = await session
    .api(inventory)
    .readGraph({ params: { id }, query: { ...traversalQuery(options), depth, limit } })
  const format = options.dot ? dot : options.mermaid ? mermaid : tree
  if (!session.output.isText) await session.output.show(answer)
  else for (const line of format(answer.data)) await session.terminal.print(line)
  if (answer.data.truncated) session.terminal.note(`The graph is truncated after ${limit} nodes (--limit).`)
}
