import { inbox, inboxLimits, type OnboardingRule } from '@millwright/api/inbox.ts'
import type { Command } from 'commander'
import { confirm } from '../input/confirmation.ts'
import { gatewayId, groupId, isId, requireSingle } from '../input/lookup.ts'
import { nodeId } from '../input/node-lookup.ts'
import { type PagingOptions, pagesOf, wholeNumber, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { formatCount } from '../output/text.ts'
import { collect, platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'

/** This file adds the commands for onboarding rules. */

type MatchOptions = {
  gateway?: string
  range?: string[]
  filter?: string
  group?: string
  node?: string
  hierarchy?: string
}
type CreateOptions = MatchOptions & { automatic?: boolean; cap?: number }

export function addRules(command: Command, terminal: Terminal): void {
  const rules = command.command('rules').description('rules that propose a target for new assets, or onboard them')

  platformCommand(rules.command('list').description('list the rules in their order'), terminal, async (session) => {
    await session.output.list(await session.api(inbox).listOnboardingRules({}), {
      columns: {
        position: 'position',
        name: 'name',
        mode: ({ mode, paused }) => (paused ? 'paused' : mode),
        gateway: 'gatewayName',
        ranges: ({ ranges }) => (ranges as string[]).join(', '),
        filter: 'filter',
        group: 'accessGroup',
        node: ({ nodePath }) => (nodePath as string[] | undefined)?.join('/'),
        author: 'author',
        reason: 'pauseReason',
      },
      nothing: 'No onboarding rules. To add one: millwright inbox rules create',
    })
  })

  platformCommand(
    withMatchOptions(rules.command('create').description('create a rule').argument('<name>', 'name of the rule'))
      .option('--automatic', 'onboard the new assets of each scan with your current rights, instead of proposing')
      .option(
        '--cap <count>',
        'assets that an automatic rule onboards per scan at most',
        wholeNumber(1, inboxLimits.cap),
      ),
    terminal,
    async (session, name: string, { automatic = false, cap, ...options }: CreateOptions) => {
      const mode = automatic ? ('automatic' as const) : ('propose' as const)
      const data = { name, mode, ...(cap === undefined ? {} : { cap }), ...(await matchOf(session, options)) }
      await session.output.done(`${name} created`, await session.api(inbox).createOnboardingRule({ body: { data } }))
    },
  )

  platformCommand(
    withMatchOptions(rules.command('preview').description('show which new assets a rule would match now')),
    terminal,
    async (session, options: MatchOptions) => {
      const body = { data: await matchOf(session, options) }
      const answer = await session.api(inbox).previewOnboardingRule({ body })
      const { assets, problem } = answer.data
      if (session.output.isText) session.terminal.note(matchNote(answer.data))
      if (problem !== undefined) session.terminal.note(problem)
      await session.output.list({ data: assets }, { columns: { id: 'id', name: 'name' }, nothing: 'No matches.' })
    },
  )

  for (const [name, paused, description] of [
    ['pause', true, 'pause a rule'],
    ['resume', false, 'resume a rule; you become its author'],
  ] as const) {
    platformCommand(
      rules.command(name).description(description).argument('<rule>', 'id or name'),
      terminal,
      async (session, nameOrId: string) => {
        const id = await ruleId(session, nameOrId)
        const answer = await session.api(inbox).updateOnboardingRule({ params: { id }, body: { data: { paused } } })
        await session.output.done(`${nameOrId} ${name}d`, answer)
      },
    )
  }

  platformCommand(
    withPagingOptions(
      rules
        .command('log')
        .description('list what an automatic rule did after each scan')
        .argument('<rule>', 'id or name'),
    ),
    terminal,
    async (session, nameOrId: string, options: PagingOptions) => {
      const params = { id: await ruleId(session, nameOrId) }
      const pages = pagesOf(options, ({ limit, offset }) =>
        session.api(inbox).listRuleRuns({ params, query: { limit, offset } }),
      )
      const columns = {
        time: 'createdTimestamp',
        scan: 'jobId',
        matched: 'matched',
        onboarded: 'taken',
        decision: 'decisionId',
        problem: 'problem',
      }
      await session.output.list(await pages, { columns, nothing: 'No entries.' })
    },
  )

  platformCommand(
    rules
      .command('delete')
      .description('delete a rule and its log; onboarded assets stay')
      .argument('<rule>', 'id or name')
      .option('--yes', 'do not ask'),
    terminal,
    async (session, nameOrId: string, options: { yes?: boolean }) => {
      const id = await ruleId(session, nameOrId)
      await confirm(session, `Delete the rule ${nameOrId}?`, options)
      await session.api(inbox).deleteOnboardingRule({ params: { id } })
      await session.output.done(`${nameOrId} deleted`, { data: { id } })
    },
  )
}

/** Returns how many assets a preview has found. A search that was stopped has found only some of them. */
export function matchNote({ matched, isComplete }: { matched: number; isComplete: boolean }): string {
  const found = `${formatCount(matched, 'new asset')} match`
  return isComplete ? found : `At least ${found}. The search stopped before it compared all new assets`
}

function withMatchOptions(command: Command): Command {
  return command
    .option('--gateway <gateway>', 'name or id of the gateway that found the assets')
    .option('--range <range>', 'IP range, such as 10.3.0.0/24 or 10.3.0.1-10.3.0.40; repeatable', collect)
    .option('--filter <filter>', 'filter of the asset list')
    .option('--group <group>', 'access group of onboarded assets')
    .option('--node <node>', 'path or id of the node of onboarded assets')
    .option('--hierarchy <hierarchy>', 'hierarchy of the node, if there are several')
}

async function matchOf(session: Session, { gateway, range, filter, group, node, hierarchy }: MatchOptions) {
  return {
    ...(gateway === undefined ? {} : { gatewayId: await gatewayId(session, gateway) }),
    ...(range === undefined ? {} : { ranges: range }),
    ...(filter === undefined ? {} : { filter }),
    ...(group === undefined ? {} : { accessGroupId: await groupId(session, group) }),
    ...(node === undefined ? {} : { nodeId: await nodeId(session, node, { hierarchy }) }),
  }
}

/** Returns the id of the rule with this name or id. */
export async function ruleId(session: Session, nameOrId: string): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const { data } = await session.api(inbox).listOnboardingRules({})
  const matches = data.filter(({ name }: OnboardingRule) => name === nameOrId)
  return requireSingle('Onboarding rule', nameOrId, { matches, list: 'millwright inbox rules list' })
}
