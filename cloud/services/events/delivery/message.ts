import { createHash } from 'node:crypto'
import type { CloudEvent } from '@millwright/api/events.ts'
import type { Message } from './channel.ts'

/** `texts` contains the JSON text of each event, if it is known. */
type MessageOptions = { isBatch: boolean; texts?: readonly string[] }

/**
 * Returns the message for events. The id of a batch is computed from the ids of its events, so that the same events always
 * have the same message id.
 */
export function messageOf(
  events: readonly [CloudEvent, ...CloudEvent[]],
  { isBatch, texts = events.map((event) => JSON.stringify(event)) }: MessageOptions,
): Message {
  if (!isBatch) return { id: events[0].id, events, body: texts[0] ?? '' }
  return { id: batchId(events), events, body: `[${texts.join(',')}]` }
}

const batchIdCharacters = 32

function batchId(events: readonly CloudEvent[]): string {
  const hash = createHash('sha256')
  for (const { id } of events) hash.update(id)
  return `batch_${hash.digest('base64url').slice(0, batchIdCharacters)}`
}
