import { type CloudEvent, events, eventTypePrefix } from '@millwright/api/events.ts'
import type { Command } from 'commander'
import { wholeNumber } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { displayText, sanitize } from '../output/text.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { messages } from './event-stream.ts'

type Options = { follow?: boolean; type?: string; subject?: string; after?: number; limit: number }

export function addCommands(command: Command, terminal: Terminal): void {
  platformCommand(
    command
      .option('--follow', 'print new events until Ctrl-C, instead of stored events')
      .option('--type <types>', 'prefixes of event types, separated by commas: inventory.asset,discovery')
      .option('--subject <subject>', 'subject of the event: asset/<id> or asset/*; requires --follow')
      .option('--after <position>', 'only events after this position', wholeNumber(0, Number.MAX_SAFE_INTEGER))
      .option('--limit <count>', 'maximum number of stored events', wholeNumber(1, 1_000_000), 50),
    terminal,
    (session, options: Options) => (options.follow ? follow(session, options) : list(session, options)),
  ).addHelpText(
    'after',
    `
Without --follow, the command requires the permission to read the audit trail. With --follow, it prints the events of the
resources that you can read.

Examples:
  millwright events --follow
  millwright events --follow --type inventory.asset --ndjson | jq .data.name`,
  )
}

async function follow(session: Session, { type, subject, after }: Options): Promise<void> {
  const query = {
    ...(type === undefined ? {} : { types: type }),
    ...(subject === undefined ? {} : { subject }),
    ...(after === undefined ? {} : { after }),
  }
  for await (const { data } of messages(session, { contract: events, operation: 'streamEvents', input: { query } }))
    await print(session, JSON.parse(data))
}

async function list(session: Session, { type, after = 0, limit }: Options): Promise<void> {
  const prefixes = type?.split(',').map((text) => text.replace(eventTypePrefix, ''))
  let position = after
  let left = limit
  for (;;) {
    const { data, meta } = await session.api(events).listEvents({ query: { after: position, limit: 100 } })
    const matching = data.filter((event) => prefixes?.some((prefix) => hasType(event, prefix)) ?? true).slice(0, left)
    for (const event of matching) await print(session, event)
    left -= matching.length
    position = meta.lastPosition
    if (left === 0 || data.length === 0 || position >= meta.newestPosition) break
  }
  if (left === limit && session.output.isText) session.terminal.note('No stored event matches.')
}

function hasType({ type }: CloudEvent, prefix: string): boolean {
  return `${type.replace(eventTypePrefix, '')}.`.startsWith(`${prefix}.`)
}

async function print({ output, terminal }: Session, event: CloudEvent): Promise<void> {
  if (!output.isText) return terminal.print(JSON.stringify(event))
  const { name } = event.data
  const what = typeof name === 'string' ? `  ${sanitize(name)}` : ''
  await terminal.print(
    `${displayText(event.time)}  ${String(Number(event.sequence)).padStart(8)}  ${event.type.replace(eventTypePrefix, '').padEnd(28)}  ${sanitize(event.subject)}${what}`,
  )
}
