import type { SubscriptionReason } from '@millwright/api/event-subscriptions.ts'
import type { StoredPrincipal } from '../../platform/access/current-caller.ts'

export type SubscriptionKindName = 'webhook' | 'mqtt'

/** The fields of one kind. */
export type WebhookDetails = { batchSize: number }
export type PublisherDetails = {
  clientId: string
  userName: string | null
  topic: string
  retain: boolean
  statusTopic: string | null
}

/** A webhook or an MQTT publisher. The secret of a webhook signs requests. The secret of a publisher is its password. */
export type SubscriptionRow = StoredPrincipal & {
  id: string
  kind: SubscriptionKindName
  name: string
  url: string
  types: string[]
  accessGroupId: string | null
  filter: string | null
  active: boolean
  certificateAuthority: string | null
  details: WebhookDetails | PublisherDetails
  sealedSecret: Buffer | null
  sealedPreviousSecret: Buffer | null
  previousSecretUntil: string | null
  version: number
  createdAt: string
  modifiedAt: string
}

export type ProgressRow = {
  position: number
  stoppedReason: Exclude<SubscriptionReason, 'user'> | null
  stoppedAt: string | null
  failures: number
  openedAt: string | null
  blockedUntil: string | null
  wakeAt: string | null
  lastSuccessAt: string | null
  lastFailureAt: string | null
  lastError: string | null
}
