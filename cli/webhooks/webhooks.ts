import { subscriptionLimits } from '@millwright/api/event-subscriptions.ts'
import { events } from '@millwright/api/events.ts'
import type { Command } from 'commander'
import { wholeNumber } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { addActions, addQueries } from './subscription-commands.ts'
import { subscriptionId, subscriptionKinds } from './subscription-kind.ts'
import { type FieldOptions, fieldsOf, requireChange, requireTypes, withFieldOptions } from './subscription-options.ts'

/** This file adds `millwright webhooks`, which manages webhooks: events that are sent to another system over HTTP. */

const kind = subscriptionKinds.webhook

type WebhookOptions = FieldOptions & { to?: string; batch?: number }

export function addCommands(webhooks: Command, terminal: Terminal): void {
  webhooks.addHelpText(
    'after',
    `
A webhook sends events to a URL of another system: one signed POST request per event, with a CloudEvent in JSON. The receiver
confirms an event with a status from 200 to 299. An event that is not confirmed is sent again for 72 hours. Then it is a dead
letter. The host must be in the setting MILLWRIGHT_OUTBOUND_ALLOW of the platform. The platform sends only events that the
owner of the webhook can read.

Examples:
  millwright webhooks create https://cmms.example.com/millwright --type inventory.asset
  millwright webhooks test cmms.example.com
  millwright webhooks deliveries cmms.example.com --follow
  millwright webhooks retry cmms.example.com --dead-letters
  millwright webhooks rotate-secret cmms.example.com`,
  )
  addQueries(webhooks, terminal, kind)
  addChanges(webhooks, terminal)
  addActions(webhooks, terminal, kind)
}

function addChanges(webhooks: Command, terminal: Terminal): void {
  const batch = [
    '--batch <count>',
    'events in one request; above 1, the body is an array',
    wholeNumber(1, subscriptionLimits.batch),
  ] as const
  platformCommand(
    withFieldOptions(
      webhooks
        .command('create')
        .description('create a webhook; its signing secret is printed once')
        .argument('<url>', 'address of the receiver'),
    )
      .option(...batch)
      .option('--paused', 'send no events until the webhook is resumed'),
    terminal,
    async (session, url: string, options: WebhookOptions & { paused?: boolean }) => {
      const types = requireTypes(options.type)
      const active = options.paused !== true
      const data = { ...(await dataOf(session, options)), url, types, active }
      const answer = await session.api(events).createWebhook({ body: { data } })
      await showSecret(session, answer)
      if (session.output.isText)
        session.terminal.note(`Test it: ${kind.command} test ${JSON.stringify(answer.data.name)}`)
    },
  )

  platformCommand(
    withFieldOptions(
      webhooks
        .command('update')
        .description('change a webhook; a change of anything but the name makes you its owner')
        .argument('<webhook>', 'id or name')
        .option('--to <url>', 'new address of the receiver'),
    ).option(...batch),
    terminal,
    async (session, nameOrId: string, options: WebhookOptions) => {
      const { to } = options
      const data = { ...(await dataOf(session, options)), ...(to === undefined ? {} : { url: to }) }
      requireChange(data)
      const id = await subscriptionId(session, kind, nameOrId)
      const answer = await session.api(events).updateWebhook({ params: { id }, body: { data } })
      await session.output.done(`${nameOrId} changed. Its owner is ${answer.data.owner.name}`, answer)
    },
  )

  platformCommand(
    webhooks
      .command('rotate-secret')
      .description('create a new signing secret; it is printed once')
      .argument('<webhook>', 'id or name')
      .option(
        '--previous-hours <hours>',
        'hours in which requests are also signed with the previous secret; 0: none',
        wholeNumber(0, subscriptionLimits.maxPreviousSecretHours),
        subscriptionLimits.previousSecretHours,
      ),
    terminal,
    async (session, nameOrId: string, { previousHours }: { previousHours: number }) => {
      const id = await subscriptionId(session, kind, nameOrId)
      const body = { data: { previousSecretHours: previousHours } }
      await showSecret(session, await session.api(events).rotateWebhookSecret({ params: { id }, body }))
    },
  )
}

async function dataOf(session: Session, options: WebhookOptions) {
  const { batch } = options
  return { ...(await fieldsOf(session, options)), ...(batch === undefined ? {} : { batchSize: batch }) }
}

type WithSecret = {
  data: { id: string; name: string; url: string; secret: string; previousSecretExpiresTimestamp: string | null }
}

async function showSecret({ output, terminal }: Session, answer: WithSecret): Promise<void> {
  if (!output.isText) return output.show(answer)
  const { id, name, url, secret, previousSecretExpiresTimestamp } = answer.data
  await output.show({ data: { id, name, url, secret, previousSecretExpiresTimestamp } })
  terminal.note('Copy the secret to the receiver now: it is not shown again.')
}
