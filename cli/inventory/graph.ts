import { inventory } from '@millwright/api/inventory.ts'
import { type Command, Option } from 'commander'
import { assetId } from '../input/lookup.ts'
import { wholeNumber } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { online } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { dot, mermaid, tree } from './graph-formats.ts'

type Direction = 'out' | 'in' | 'both'
export type Way = { direction: Direction; predicates?: string; at?: string }
type Options = Way & { depth: number; limit: number; dot?: boolean; mermaid?: boolean }

export function addCommands(graph: Command, terminal: Terminal): void {
  const command = alongWay(graph.argument('<asset>', 'id or name'))
    .option('--depth <count>', 'how far to go', wholeNumber(1, 10), 2)
    .option('--limit <count>', 'how many things at most', wholeNumber(1, 2000), 500)
    .addOption(new Option('--dot', 'for Graphviz: … --dot | dot -Tsvg > graph.svg').conflicts('mermaid'))
    .option('--mermaid', 'for Mermaid')
  online(command, terminal, draw).addHelpText(
    'after',
    `
Examples:
  millwright graph 'Rack 1'
  millwright graph 'Rack 1' --depth 5 --direction in --at 2026-01-31T08:30:00Z`,
  )
}

export function alongWay(command: Command): Command {
  return command
    .addOption(
      new Option('--direction <direction>', 'which relations to follow').choices(['out', 'in', 'both']).default('both'),
    )
    .option('--predicates <names>', 'only these, separated by commas')
    .option('--at <time>', 'as it was then: 2026-01-31T08:30:00Z')
}

export function wayQuery({ direction, predicates, at }: Way) {
  return { direction, ...(predicates === undefined ? {} : { predicates }), ...(at === undefined ? {} : { at }) }
}

async function draw(session: Session, given: string, options: Options): Promise<void> {
  const id = await assetId(session, given)
  const { depth, limit } = options
  const answer = await session
    .api(inventory)
    .readGraph({ params: { id }, query: { ...wayQuery(options), depth, limit } })
  const picture = options.dot ? dot : options.mermaid ? mermaid : tree
  if (!session.output.isText) await session.output.show(answer)
  else for (const line of picture(answer.data)) await session.terminal.print(line)
  if (answer.data.truncated) session.terminal.tell(`There is more: only ${limit} things are shown (--limit).`)
}
