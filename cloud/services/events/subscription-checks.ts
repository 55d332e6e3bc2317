import { authorityIn, pemCertificatesIn } from '@millwright/api/certificate-authority.ts'
import { subscriptionLimits } from '@millwright/api/event-subscriptions.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { mayIn } from '../../platform/access/rights.ts'
import { findAccessGroup } from '../../platform/access/store.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { fieldProblem } from '../../platform/field-problem.ts'
import type { Context } from '../../platform/service.ts'
import type { SubscriptionInput, SubscriptionKind } from './subscription-kind.ts'
import { countSubscriptions } from './subscription-store.ts'

/** Checks of the fields of a subscription. Each function throws a problem that names the field. */

export function requireUrl(url: string, example: string): void {
  if (!URL.canParse(url) || new URL(url).host === '')
    throw fieldProblem(
      'invalid_body',
      '/data/url',
      `The URL is not valid: it names no host. Send a URL with a host, for example ${example}`,
    )
}

/** Adds the place of the URL in the request to the problem of a target that is not permitted. */
export async function requireTarget<Input extends SubscriptionInput, OwnView>(
  context: Context,
  kind: SubscriptionKind<Input, OwnView>,
  url: string,
): Promise<void> {
  try {
    await kind.requireTarget(context, url)
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'outbound_not_allowed') throw error
    throw fieldProblem('target_not_allowed', '/data/url', error.message)
  }
}

export function requireAuthority(pem: string | null | undefined): void {
  if (pem == null) return
  const others = pemCertificatesIn(pem).reduce((text, certificate) => text.replace(certificate, ''), pem)
  if (authorityIn(pem) !== undefined && others.trim() === '') return
  throw fieldProblem(
    'invalid_certificate',
    '/data/certificateAuthority',
    'The certificate authority must be one or more certificates in PEM format, without keys and other text',
  )
}

export async function requireRoom(tx: Transaction): Promise<void> {
  if ((await countSubscriptions(tx)) < subscriptionLimits.subscriptions) return
  throw new Problem(
    'too_many_subscriptions',
    `A tenant can have ${subscriptionLimits.subscriptions} webhooks and MQTT publishers. Delete one first`,
  )
}

/** Requires an access group whose assets the owner can read. */
export async function requireAccessGroup(handle: Handle, owner: Caller, accessGroupId: string | null): Promise<void> {
  if (accessGroupId === null) return
  const isReadable = mayIn(owner, 'inventory_read_asset_data', accessGroupId)
  if (isReadable && (await findAccessGroup(handle, accessGroupId)) !== undefined) return
  throw fieldProblem('access_group_not_found', '/data/accessGroup', `Access group ${accessGroupId} does not exist`)
}
