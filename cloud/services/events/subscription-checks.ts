import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { subscriptionLimits } from '@millwright/api/event-subscriptions.ts'
import { Problem, type ProblemCode } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { mayIn } from '../../platform/access/rights.ts'
import { findAccessGroup } from '../../platform/access/store.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import type { Context } from '../../platform/service.ts'
import type { SubscriptionInput, SubscriptionKind } from './subscription-kind.ts'
import { countSubscriptions } from './subscription-store.ts'

/** Checks of the fields of a subscription. Each function throws a problem that names the field. */

export function invalid(code: ProblemCode, field: string, detail: string): Problem {
  return new Problem(code, detail, { errors: [{ pointer: `/data/${field}`, code, detail }] })
}

export function requireUrl(url: string, example: string): void {
  if (!URL.canParse(url) || new URL(url).host === '')
    throw invalid(
      'invalid_body',
      'url',
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
    throw invalid('target_not_allowed', 'url', error.message)
  }
}

const pemCertificates = /^(?:\s*-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----)+\s*$/

export function requireAuthority(pem: string | null | undefined): void {
  if (pem == null) return
  try {
    if (!pemCertificates.test(pem)) throw new TypeError('not PEM')
    for (const text of pem.split(/(?<=-----END CERTIFICATE-----)/)) if (text.trim() !== '') new X509Certificate(text)
    createSecureContext({ ca: pem })
  } catch {
    throw invalid(
      'invalid_certificate',
      'certificateAuthority',
      'The certificate authority must be one or more certificates in PEM format, without keys and other text',
    )
  }
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
  throw invalid('access_group_not_found', 'accessGroup', `Access group ${accessGroupId} does not exist`)
}
