import { type CloudEvent, events, eventTypePrefix } from '@millwright/api/events.ts'
import type { Command } from 'commander'
import { wholeNumber } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { plain, shown } from '../output/text.ts'
import { online } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { messages } from './event-stream.ts'

type Options = { follow?: boolean; type?: string; subject?: string; after?: number; limit: number }

export function addCommands(command: Command, terminal: Terminal): void {
  online(
    command
      .option('--follow', 'as they happen, until Ctrl-C; without it, what is kept')
      .option('--type <types>', 'how their types begin, separated by commas: inventory.asset,discovery')
      .option('--subject <subject>', 'what they are about: asset/<id>, or asset/*; with --follow')
      .option('--after <position>', 'only later ones', wholeNumber(0, Number.MAX_SAFE_INTEGER))
      .option('--limit <count>', 'how many of those that are kept', wholeNumber(1, 1_000_000), 50),
    terminal,
    (session, options: Options) => (options.follow ? follow(session, options) : list(session, options)),
  ).addHelpText(
    'after',
    `
Without --follow it needs the permission to read the audit trail; with it you are told of what you may read.

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
  const beginnings = type?.split(',').map((text) => text.replace(eventTypePrefix, ''))
  let position = after
  let left = limit
  for (;;) {
    const { data, meta } = await session.api(events).listEvents({ query: { after: position, limit: 100 } })
    const wanted = data.filter((event) => beginnings?.some((start) => isOf(event, start)) ?? true).slice(0, left)
    for (const event of wanted) await print(session, event)
    left -= wanted.length
    position = meta.lastPosition
    if (left === 0 || data.length === 0 || position >= meta.newestPosition) break
  }
  if (left === limit && session.output.isText) session.terminal.tell('No event matches, of those that are kept.')
}

function isOf({ type }: CloudEvent, start: string): boolean {
  return `${type.replace(eventTypePrefix, '')}.`.startsWith(`${start}.`)
}

async function print({ output, terminal }: Session, event: CloudEvent): Promise<void> {
  if (!output.isText) return terminal.print(JSON.stringify(event))
  const { name } = event.data
  const what = typeof name === 'string' ? `  ${plain(name)}` : ''
  await terminal.print(
    `${shown(event.time)}  ${String(Number(event.sequence)).padStart(8)}  ${event.type.replace(eventTypePrefix, '').padEnd(28)}  ${plain(event.subject)}${what}`,
  )
}
