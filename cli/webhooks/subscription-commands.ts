import { events } from '@millwright/api/events.ts'
import type { Command } from 'commander'
import { confirm } from '../input/confirmation.ts'
import { CommandError, usageError } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, wholeNumber, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { displayText, formatCount, sanitize } from '../output/text.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { addDeliveries } from './deliveries.ts'
import { type Subscription, type SubscriptionKind, subscriptionId } from './subscription-kind.ts'

/** This file adds the commands that webhooks and MQTT publishers have in common. */

type SubscriptionPage = {
  data: Subscription[]
  meta: { elements: number; totalElements?: number; nextCursor?: string }
}

/** Adds the commands that read webhooks or MQTT publishers. */
export function addQueries(parent: Command, terminal: Terminal, kind: SubscriptionKind): void {
  const { argument, noun, nounWithArticle, operations, command } = kind
  platformCommand(
    withPagingOptions(parent.command('list').description(`list ${noun}s and their states, by name`)),
    terminal,
    async (session, options: PagingOptions) => {
      const pages = pagesOf<Subscription, SubscriptionPage>(options, ({ limit, offset }) =>
        session.api(events)[operations.list]({ query: { limit, offset } }),
      )
      await session.output.list(await pages, {
        columns: {
          name: 'name',
          state: (row) => stateText(row as Subscription),
          behind: (row) => behind(row as Subscription),
          waiting: 'waiting',
          'dead letters': 'deadLetters',
          types: 'types',
          url: 'url',
          owner: 'owner.name',
        },
        nothing: `No ${noun}s. To add one: ${command} create`,
      })
    },
  )

  platformCommand(
    parent
      .command('show')
      .description(`show the settings and the state of ${nounWithArticle}`)
      .argument(argument, 'id or name'),
    terminal,
    async (session, nameOrId: string) => {
      const id = await subscriptionId(session, kind, nameOrId)
      await session.output.show(await session.api(events)[operations.read]({ params: { id } }))
    },
  )
}

/** Adds the commands that pause, test, repeat and delete webhooks or MQTT publishers. */
export function addActions(parent: Command, terminal: Terminal, kind: SubscriptionKind): void {
  const { argument, nounWithArticle, operations } = kind
  for (const [name, active, description] of [
    ['pause', false, 'stop sending; after the resume, events of the last 30 days are sent'],
    ['resume', true, `continue ${nounWithArticle} that is paused or disabled`],
  ] as const) {
    platformCommand(
      parent.command(name).description(description).argument(argument, 'id or name'),
      terminal,
      async (session, nameOrId: string) => {
        const id = await subscriptionId(session, kind, nameOrId)
        const answer = await session.api(events)[operations.update]({ params: { id }, body: { data: { active } } })
        await session.output.done(`${nameOrId} is ${stateText(answer.data)}`, answer)
      },
    )
  }

  platformCommand(
    parent
      .command('test')
      .description('send a test event now, also if paused; the exit code is 1 if it is not accepted')
      .argument(argument, 'id or name'),
    terminal,
    (session, nameOrId: string) => test(session, kind, nameOrId),
  )

  addDeliveries(parent, terminal, kind)
  addRepetition(parent, terminal, kind)

  platformCommand(
    parent
      .command('delete')
      .description(`delete ${nounWithArticle} and its log`)
      .argument(argument, 'id or name')
      .option('--yes', 'do not ask'),
    terminal,
    async (session, nameOrId: string, options: { yes?: boolean }) => {
      const id = await subscriptionId(session, kind, nameOrId)
      await confirm(session, `Events that were not sent yet are lost. Delete ${nameOrId}?`, options)
      await session.api(events)[operations.delete]({ params: { id } })
      await session.output.done(`${nameOrId} deleted`, { data: { id } })
    },
  )
}

/** Adds the commands that send events again. */
function addRepetition(parent: Command, terminal: Terminal, kind: SubscriptionKind): void {
  const { argument, operations } = kind
  platformCommand(
    parent
      .command('retry')
      .description('send a failed event again now, or all dead letters')
      .argument(argument, 'id or name')
      .argument('[delivery]', 'id of the delivery')
      .option('--dead-letters', 'send all dead letters again'),
    terminal,
    async (session, nameOrId: string, deliveryId: string | undefined, options: { deadLetters?: boolean }) => {
      if ((deliveryId === undefined) !== (options.deadLetters === true))
        throw usageError('Name one delivery, or pass --dead-letters.', `${kind.command} deliveries ${nameOrId}`)
      const id = await subscriptionId(session, kind, nameOrId)
      if (deliveryId !== undefined) {
        const answer = await session.api(events)[operations.retry]({ params: { id, deliveryId } })
        return session.output.done(`Delivery ${deliveryId} is sent again`, answer)
      }
      const answer = await session.api(events)[operations.retryDeadLetters]({ params: { id } })
      await session.output.done(retriedText(answer.data), answer)
    },
  )

  platformCommand(
    parent
      .command('replay')
      .description('send all events from a position on again, in order and with the same ids')
      .argument(argument, 'id or name')
      .requiredOption('--from <position>', 'position of the first event', wholeNumber(1, Number.MAX_SAFE_INTEGER))
      .option('--yes', 'do not ask'),
    terminal,
    async (session, nameOrId: string, { from, ...options }: { from: number; yes?: boolean }) => {
      const id = await subscriptionId(session, kind, nameOrId)
      await confirm(session, `Send all events from position ${from} on again to ${nameOrId}?`, options)
      const body = { data: { fromPosition: from } }
      const answer = await session.api(events)[operations.replay]({ params: { id }, body })
      const { newestPosition } = answer.data
      await session.output.done(`${nameOrId} sends the events from position ${from} to ${newestPosition} again`, answer)
    },
  )
}

function retriedText({ retried, remaining }: { retried: number; remaining: number }): string {
  if (retried + remaining === 0) return 'There are no dead letters'
  const text = `${formatCount(retried, 'dead letter')} sent again`
  return remaining === 0 ? text : `${text}. ${formatCount(remaining, 'dead letter')} left: repeat the command later`
}

async function test(session: Session, kind: SubscriptionKind, nameOrId: string): Promise<void> {
  const id = await subscriptionId(session, kind, nameOrId)
  const answer = await session.api(events)[kind.operations.test]({ params: { id } })
  const attempt = answer.data.attempts.at(-1)
  if (answer.data.state !== 'succeeded') {
    if (!session.output.isText) await session.output.show(answer)
    throw new CommandError(`The test event was not accepted: ${sanitize(attempt?.error ?? 'no response')}`, {
      next: `${kind.command} delivery ${JSON.stringify(nameOrId)} ${answer.data.id}`,
    })
  }
  const status = attempt?.status == null ? '' : ` with status ${attempt.status}`
  await session.output.done(`The test event was accepted${status} in ${attempt?.durationMs ?? 0} ms`, answer)
}

/** Returns the state with its reason, such as `paused (owner disabled)`. */
function stateText({ state, reason, circuit, nextAttemptTimestamp }: Subscription): string {
  if (reason !== null && reason !== 'user') return `${state} (${reason.replace('_', ' ')})`
  if (state !== 'active' || circuit === 'closed') return state
  return `circuit open, next attempt ${displayText(nextAttemptTimestamp)}`
}

/** Returns how many events of the tenant are newer than the last event that was handled. */
function behind({ position, newestPosition }: Subscription): number {
  return Math.max(0, newestPosition - position)
}
