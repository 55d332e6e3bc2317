import type { Caller } from '../../platform/access/caller.ts'
import type { Context } from '../../platform/service.ts'
import type { Channel, Message } from './delivery/channel.ts'
import type { SubscriptionKindName, SubscriptionRow } from './subscription-store.ts'

/** The fields of a request that webhooks and MQTT publishers have in common. A missing field keeps its value. */
export type SubscriptionInput = {
  name?: string
  url?: string
  types?: string[]
  accessGroup?: string | null
  filter?: string | null
  active?: boolean
  certificateAuthority?: string | null
}

/** A change of a subscription, or its creation if there is no row. */
export type SubscriptionChange<Input> = { id: string; input: Input; before: SubscriptionRow | undefined }

/** The request of a delivery, as the log shows it. It contains no signature and no password. */
export type ShownRequest = { target: string; headers: Record<string, string>; body: string }

/**
 * `SubscriptionKind` describes what differs between webhooks and MQTT publishers. The handlers of both kinds are created
 * from it.
 */
export type SubscriptionKind<Input extends SubscriptionInput, OwnView> = {
  readonly kind: SubscriptionKindName
  /** The noun in event types and subjects. */
  readonly noun: 'webhook' | 'mqtt-publisher'
  /** The start of error messages. */
  readonly title: 'Webhook' | 'MQTT publisher'
  /** A URL for error messages. */
  readonly exampleUrl: string
  /** The path of the list, with the prefix of the contract. */
  readonly path: string
  /** The names of the operations in the audit trail. */
  readonly actions: Readonly<Record<SubscriptionAction, string>>
  /** The name of the field with the id in events of this kind. */
  readonly idField: 'webhookId' | 'mqttPublisherId'
  /** Throws a problem if the installation does not permit the target. */
  requireTarget(context: Pick<Context, 'outbound'>, url: string): Promise<void>
  /** Returns the fields of this kind after a change. Throws a problem if they are not valid. */
  detailsOf(change: SubscriptionChange<Input>): SubscriptionRow['details']
  /** Returns the secret to store, or null to remove it. Undefined: the secret does not change. */
  secretOf(change: SubscriptionChange<Input>): string | null | undefined
  /** Returns the fields of a response that are specific to this kind. */
  viewOf(row: SubscriptionRow): OwnView
  isBatch(row: SubscriptionRow): boolean
  requestOf(row: SubscriptionRow, tenantName: string, message: Message): ShownRequest
  /** Opens a channel for one test event, next to the channel of the runner. */
  openTestChannel(context: Context, caller: Caller, row: SubscriptionRow): Promise<Channel>
}

export type SubscriptionAction =
  | 'create'
  | 'update'
  | 'delete'
  | 'test'
  | 'retryDelivery'
  | 'retryDeadLetters'
  | 'replay'
