import { inbox } from '@millwright/api/inbox.ts'
import { inboxFacets, inboxFilter } from '@millwright/api/inbox-filter.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { type Confidence, confidences } from '@millwright/api/inventory/triage.ts'
import { type Command, Option } from 'commander'
import { assetId } from '../input/lookup.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Columns } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { addDecisions } from './decisions.ts'
import { addRules } from './rules.ts'

/** This file adds `millwright inbox`, which reviews new assets and manages onboarding rules. */

type ConditionOptions = {
  scan?: string
  subnet?: string
  manufacturer?: string
  family?: string
  type?: string
  confidence?: Confidence
  ignored?: boolean
  query?: string
}

const product = 'product_instance_information.manufacturer_product'

const columns: Columns = {
  id: 'id',
  name: 'name',
  manufacturer: `${product}.manufacturer.name`,
  product: `${product}.product_name`,
  'access group': 'access_group',
  found: 'created_timestamp',
}

export function addCommands(command: Command, terminal: Terminal): void {
  command.addHelpText(
    'after',
    `
The inbox contains the new assets that scans have found. Gateways and asset links are not in it. A decision onboards assets,
ignores them, or returns them to the inbox. It can be undone for seven days. Onboarding rules propose an access group and a node
for new assets, or onboard the new assets of each scan automatically.

Examples:
  millwright inbox facets
  millwright inbox list --subnet 10.0.1.0/24
  millwright inbox show 'Drive 12'
  millwright inbox onboard 'Drive 12' --group line-1 --node 'Site 1/Line A'
  millwright inbox rules create 'Hall 3' --gateway 'Hall 3' --range 10.3.0.0/16 --group hall-3`,
  )

  platformCommand(
    withConditionOptions(withPagingOptions(command.command('list').description('list new assets, newest first'))),
    terminal,
    async (session, { limit, offset, all, ...options }: ConditionOptions & PagingOptions) => {
      const query = {
        filter: inboxFilter(conditionsOf(options)),
        sort: '-created_timestamp',
        ...(options.query === undefined ? {} : { q: options.query }),
      }
      const paging = { limit, offset, ...(all === undefined ? {} : { all }) }
      const pages = pagesOf(paging, (page) => session.api(inventory).listAssets({ query: { ...query, ...page } }))
      await session.output.list(await pages, { columns, nothing: 'The inbox is empty.' })
    },
  )

  platformCommand(
    withConditionOptions(
      command
        .command('facets')
        .description('count new assets by scan, subnet, manufacturer, product family, type and identity'),
    ),
    terminal,
    listFacets,
  )

  platformCommand(
    command
      .command('show')
      .description('show why an asset is new, its possible duplicate, and the proposed target')
      .argument('<asset>', 'name or id'),
    terminal,
    async (session, nameOrId: string) => {
      const id = await assetId(session, nameOrId)
      await session.output.show(await session.api(inbox).readInboxAsset({ params: { id } }))
    },
  )

  addDecisions(command, terminal)
  addRules(command, terminal)
}

function withConditionOptions(command: Command): Command {
  return command
    .option('--scan <run>', 'assets that this discovery run created')
    .option('--subnet <network>', 'assets in this /24 network, such as 10.0.1.0/24')
    .option('--manufacturer <name>', 'assets of this manufacturer')
    .option('--family <name>', 'assets of this product family')
    .option('--type <type>', 'assets of this type, such as Device')
    .addOption(new Option('--confidence <level>', 'how sure the identity is').choices(confidences))
    .option('-q, --query <text>', 'assets with these words')
    .option('--ignored', 'ignored assets instead of new ones')
}

function conditionsOf({ ignored = false, query: _, ...conditions }: ConditionOptions) {
  return { ...conditions, state: ignored ? ('ignored' as const) : ('unknown' as const) }
}

async function listFacets(session: Session, options: ConditionOptions): Promise<void> {
  const q = options.query === undefined ? {} : { q: options.query }
  const query = { ...conditionsOf(options), ...q }
  const answer = await session.api(inbox).readInboxFacets({ query })
  if (session.output.format === 'json') return session.output.show(answer)
  const rows = inboxFacets.flatMap((facet) =>
    answer.data[facet].map(({ value, count, scan }) => ({
      facet,
      value: value ?? '',
      count,
      name: scan === undefined ? '' : `${scan.assetLinkId} run ${scan.number}, ${scan.gatewayName ?? ''}`,
    })),
  )
  await session.output.list(
    { data: rows },
    { columns: { facet: 'facet', value: 'value', assets: 'count', scan: 'name' }, nothing: 'The inbox is empty.' },
  )
}
