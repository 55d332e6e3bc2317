import { type Decision, type DecisionAction, inbox, inboxLimits } from '@millwright/api/inbox.ts'
import type { Command } from 'commander'
import { assetIds, groupId } from '../input/lookup.ts'
import { nodeId } from '../input/node-lookup.ts'
import { CommandError, usageError } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { formatCount } from '../output/text.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { ruleId } from './rules.ts'

/** This file adds the commands that decide about new assets, and undo decisions. */

type OnboardOptions = { group?: string; node?: string; hierarchy?: string; rule?: string; proposals?: boolean }

export function addDecisions(command: Command, terminal: Terminal): void {
  platformCommand(
    command
      .command('onboard')
      .description('onboard assets, into an access group and a node of a hierarchy')
      .argument('[assets...]', 'names or ids')
      .option('--group <group>', 'new access group; default: the assets keep their group')
      .option('--node <node>', 'path or id of a node, such as "Site 1/Line A"')
      .option('--hierarchy <hierarchy>', 'hierarchy of the node, if there are several')
      .option('--proposals', 'use the targets that onboarding rules propose')
      .option('--rule <rule>', 'all assets for which this rule proposes a target'),
    terminal,
    onboard,
  )

  for (const [name, action, description] of [
    ['ignore', 'ignore', 'ignore new assets'],
    ['return', 'return', 'return ignored assets to the inbox'],
  ] as const) {
    platformCommand(
      command.command(name).description(description).argument('<assets...>', 'names or ids'),
      terminal,
      async (session, namesOrIds: string[]) =>
        decide(session, { action, assetIds: await assetIds(session, namesOrIds) }),
    )
  }

  platformCommand(
    withPagingOptions(command.command('decisions').description('list decisions, newest first')),
    terminal,
    async (session, options: PagingOptions) => {
      const pages = pagesOf(options, ({ limit, offset }) =>
        session.api(inbox).listDecisions({ query: { limit, offset } }),
      )
      await session.output.list(await pages, {
        columns: {
          id: 'id',
          action: 'action',
          state: 'state',
          assets: 'total',
          changed: 'changed',
          by: 'principalName',
          time: 'createdTimestamp',
          undo: ({ canUndo, undoneBy }) => (canUndo ? 'possible' : undoneBy === undefined ? '' : 'undone'),
        },
        nothing: 'No decisions.',
      })
    },
  )

  platformCommand(
    command.command('undo').description('undo a decision').argument('<decision>', 'id'),
    terminal,
    async (session, id: string) => {
      const { data } = await session.api(inbox).undoDecision({ params: { id } })
      await printEnd(session, await untilEnd(session, data))
    },
  )
}

async function onboard(session: Session, namesOrIds: string[], options: OnboardOptions): Promise<void> {
  const { rule, group, node, hierarchy, proposals = false } = options
  if ((namesOrIds.length === 0) === (rule === undefined))
    throw usageError('Name either assets or --rule.', 'millwright inbox onboard --help')
  if (rule !== undefined) return decide(session, { action: 'onboard', ruleId: await ruleId(session, rule) })
  return decide(session, {
    action: 'onboard',
    assetIds: await assetIds(session, namesOrIds),
    ...(group === undefined ? {} : { accessGroupId: await groupId(session, group) }),
    ...(node === undefined ? {} : { nodeId: await nodeId(session, node, { hierarchy }) }),
    ...(proposals ? { useProposals: true } : {}),
  })
}

type DecisionInput = {
  action: DecisionAction
  assetIds?: string[]
  ruleId?: string
  accessGroupId?: string
  nodeId?: string
  useProposals?: boolean
}

async function decide(session: Session, data: DecisionInput): Promise<void> {
  const accepted = await session.api(inbox).createDecision({ body: { data } })
  await printEnd(session, await untilEnd(session, accepted.data))
}

async function untilEnd(session: Session, first: Decision): Promise<Decision> {
  let decision = first
  while (decision.state === 'running') {
    const query = { wait: inboxLimits.waitSeconds }
    decision = (await session.api(inbox).readDecision({ params: { id: decision.id }, query })).data
  }
  return decision
}

/** Prints the result of a decision. Throws if assets were not changed, so that the exit code shows it. */
async function printEnd(session: Session, decision: Decision): Promise<void> {
  const { id, changed, failed, notAssigned, problem, canUndo } = decision
  await session.output.done(`${formatCount(changed, 'asset')} changed`, { data: decision })
  if (canUndo && session.output.isText) session.terminal.note(`To undo: millwright inbox undo ${id}`)
  if (problem !== undefined) throw new CommandError(problem.detail)
  if (failed + notAssigned === 0) return
  const { data } = await session.api(inbox).listDecisionResults({ params: { id }, query: { limit: 100 } })
  const details = data.flatMap(({ assetId, detail }) => (detail === undefined ? [] : [`${assetId}: ${detail}`]))
  throw new CommandError(`${failed} not changed, ${notAssigned} not assigned.\n${details.join('\n')}`)
}
