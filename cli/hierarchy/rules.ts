import { hierarchy, type Proposal, type Rule } from '@millwright/api/hierarchy.ts'
import type { Command } from 'commander'
import { confirm } from '../input/confirmation.ts'
import { readJson } from '../input/json-input.ts'
import { gatewayId } from '../input/lookup.ts'
import { type HierarchyOption, hierarchyId, nodeId } from '../input/node-lookup.ts'
import { usageError } from '../output/error-report.ts'
import type { Columns } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { formatCount } from '../output/text.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { printResults } from './assignment-progress.ts'
import { NodePaths, withHierarchyOption } from './node-arguments.ts'

type ProposalOptions = HierarchyOption & { includeAssigned?: boolean }

const proposalColumns: Columns = {
  asset: 'assetId',
  name: 'assetName',
  node: 'nodeName',
  'current node': 'currentNodeName',
  rule: 'rule',
}

export function addRules(command: Command, terminal: Terminal): void {
  const rules = command.command('rules').description('rules that propose a node for assets')

  platformCommand(
    withHierarchyOption(rules.command('show').description('list the rules of a hierarchy, in their order')),
    terminal,
    show,
  )

  platformCommand(
    withHierarchyOption(
      rules
        .command('set')
        .description('replace the rules of a hierarchy')
        .argument('<file>', 'JSON file with the rules, or - for standard input'),
    ),
    terminal,
    set,
  ).addHelpText(
    'after',
    `
A rule has a node and at least one condition. All conditions of a rule must match, and the first matching rule applies:
  [{ "node": "Site 1/Line A", "namePattern": "Drive*", "subnet": "10.0.4.0/24", "gateway": "Hall 4" }]
The fields nodeId and gatewayId contain ids instead of a path and a name. The output of "rules show --json" is also valid.

Examples:
  millwright hierarchy rules set rules.json
  millwright hierarchy rules set rules.json --hierarchy Plant`,
  )

  const withProposalOptions = (proposals: Command) =>
    withHierarchyOption(proposals).option('--include-assigned', 'also assets that have another node')

  platformCommand(
    withProposalOptions(
      command.command('proposals').description('list the assets that the rules would assign or move'),
    ),
    terminal,
    async (session, options: ProposalOptions) => {
      const { answer } = await readProposals(session, options)
      await session.output.list(answer, { columns: proposalColumns, nothing: 'No proposals.' })
      noteIncomplete(session, answer.meta)
    },
  )

  platformCommand(
    withProposalOptions(
      command.command('apply-proposals').description('show the proposals of the rules, and assign the assets'),
    ).option('--yes', 'do not ask for confirmation'),
    terminal,
    apply,
  )
}

async function show(session: Session, options: HierarchyOption): Promise<void> {
  const id = await hierarchyId(session, options.hierarchy)
  const answer = await session.api(hierarchy).readRules({ params: { id } })
  const { rules } = answer.data
  if (session.output.format === 'json') return session.output.show(answer)
  const paths = new NodePaths(session)
  if (session.output.isText) await paths.read(rules.map((rule) => rule.nodeId))
  await session.output.list(
    { data: rules },
    {
      columns: {
        node: (rule) => paths.of(String(rule.nodeId)),
        'name pattern': 'namePattern',
        subnet: 'subnet',
        gateway: 'gatewayId',
      },
      nothing: 'No rules.',
    },
  )
}

type RuleInput = Omit<Rule, 'nodeId'> & { nodeId?: string; node?: string; gateway?: string }

async function set(session: Session, file: string, options: HierarchyOption): Promise<void> {
  const document = await readJson(session.terminal, file)
  const id = await hierarchyId(session, options.hierarchy)
  const rules: Rule[] = []
  for (const { node, gateway, ...rule } of ruleInputs(document, file)) {
    const named = node ?? rule.nodeId
    if (typeof named !== 'string') throw usageError(`${file}: rule ${rules.length} has no node.`, 'add "node"')
    rules.push({
      ...rule,
      nodeId: await nodeId(session, named, { hierarchy: id }),
      ...(gateway === undefined ? {} : { gatewayId: await gatewayId(session, gateway) }),
    })
  }
  const answer = await session.api(hierarchy).replaceRules({ params: { id }, body: { data: { rules } } })
  await session.output.done(`${formatCount(rules.length, 'rule')} stored`, answer)
}

/**
 * Returns the rules in a file. The file contains a list, or an object with the field `rules`, as the API returns it.
 */
function ruleInputs(document: unknown, file: string): RuleInput[] {
  const data = (document as { data?: unknown } | null)?.data ?? document
  const rules = (data as { rules?: unknown } | null)?.rules ?? data
  const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
  if (Array.isArray(rules) && rules.every(isObject)) return rules as RuleInput[]
  throw usageError(`${file} does not contain a list of rules.`, 'millwright hierarchy rules set --help')
}

async function readProposals(session: Session, { includeAssigned = false, ...options }: ProposalOptions) {
  const id = await hierarchyId(session, options.hierarchy)
  const query = { onlyUnassigned: !includeAssigned }
  return { id, answer: await session.api(hierarchy).listProposals({ params: { id }, query }) }
}

function noteIncomplete({ terminal }: Session, { elements, isComplete }: { elements: number; isComplete: boolean }) {
  if (!isComplete) terminal.note(`Only the first ${elements} proposals are shown. Apply them, then repeat the command.`)
}

async function apply(session: Session, options: ProposalOptions & { yes?: boolean }): Promise<void> {
  const { id, answer } = await readProposals(session, options)
  const { data: proposals, meta } = answer
  if (proposals.length === 0) return session.terminal.note('No proposals.')
  if (session.output.isText) await session.output.list(answer, { columns: proposalColumns, nothing: '' })
  noteIncomplete(session, meta)
  await confirm(session, `Assign ${formatCount(proposals.length, 'asset')}?`, options)
  const assets = proposals.map(({ assetId, nodeId }: Proposal) => ({ assetId, nodeId }))
  await printResults(
    session,
    await session.api(hierarchy).applyProposals({ params: { id }, body: { data: { assets } } }),
  )
}
