import type { Attempt } from '@millwright/api/event-subscriptions.ts'
import type { CloudEvent } from '@millwright/api/events.ts'

/** `Message` is one request to a webhook or one publication: an event, or several events for a webhook with batches. */
export type Message = {
  /** The header `webhook-id`. It is the id of the event, or of the batch. It is the same in every attempt. */
  id: string
  events: readonly [CloudEvent, ...CloudEvent[]]
  /** The CloudEvents as JSON text: an object, or an array for a webhook with batches. */
  body: string
}

/** `Outcome` is the result of one attempt. `isGone`: the receiver refuses all further events (HTTP status 410). */
export type Outcome = { isDelivered: boolean; isGone: boolean; attempt: Attempt }

/**
 * `Channel` sends messages to the receiver of one subscription. It keeps its connections open between messages. It never
 * throws for an error of the receiver, and ends within the time limit of a response.
 */
export type Channel = {
  /**
   * How long the channel stays open without messages. The default is a few seconds. Infinity: the channel stays open while
   * the subscription is active.
   */
  readonly idleMs?: number
  send(message: Message, signal: AbortSignal): Promise<Outcome>
  close(): Promise<void>
}
