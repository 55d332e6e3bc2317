import { createHash, randomBytes } from 'node:crypto'
import { Problem } from '@millwright/api/problem.ts'
import { type remoteAccess, remoteAccessLimits } from '@millwright/api/remote-access.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { currentCaller } from '../../platform/access/current-caller.ts'
import { bytesOfId, idBytes, idOfBytes } from '../../platform/database/id.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { requireOwn } from './session-access.ts'
import { findSession, type SessionRow } from './session-store.ts'
import { countTickets, insertTicket, redeemTicket } from './ticket-store.ts'

/**
 * Tickets with which a browser opens a stream or enters a web session, because it cannot send a header there. A ticket
 * contains the tenant and a secret of 256 bits. It is valid once, for one session, for a short time. The database stores
 * only its hash.
 */

const secretBytes = 32
/** The maximum number of tickets of a session that are valid at the same time. */
const mostTickets = 256

export function ticketHandlers(context: Context): Pick<Handlers<typeof remoteAccess>, 'createTicket'> {
  const { database } = context
  return {
    async createTicket({ params: { id } }, caller) {
      const { row } = await requireOwn(context, caller, id)
      if (row.state !== 'open')
        throw new Problem('conflict', `The session has the state ${row.state}. Only an open session has tickets`)
      const bytes = Buffer.concat([bytesOfId(caller.tenantId), randomBytes(secretBytes)])
      const now = Date.now()
      const expiresAt = new Date(now + remoteAccessLimits.ticketSeconds * 1_000).toISOString()
      await database.transaction(caller, async (tx) => {
        if ((await countTickets(tx, id, new Date(now).toISOString())) >= mostTickets)
          throw new Problem(
            'conflict',
            `The session has ${mostTickets} unused tickets. Use one, or wait until they expire`,
          )
        await insertTicket(tx, { hash: hashOf(bytes), sessionId: id, principalId: row.principalId, expiresAt })
      })
      const data = { ticket: bytes.toString('base64url'), expiresTimestamp: expiresAt }
      return answer(201, { data }, { 'cache-control': 'no-store' })
    },
  }
}

type TicketUse = { ticket: string; sessionId: string; request: Caller['request'] }

/**
 * Redeems a ticket of a session. Returns the session and its user with the current rights. Throws the same error for every
 * ticket that is not valid.
 */
export async function redeem(
  context: Context,
  { ticket, sessionId, request }: TicketUse,
): Promise<{ caller: Caller; row: SessionRow }> {
  const bytes = Buffer.from(ticket, 'base64url')
  if (bytes.length !== idBytes + secretBytes || bytes.toString('base64url') !== ticket) throw invalidTicket()
  const tenantId = idOfBytes(bytes.subarray(0, idBytes))
  const tenant = await context.tenants.byId(tenantId)
  if (tenant === undefined) throw invalidTicket()
  const row = await context.database.transaction({ tenantId }, async (tx) => {
    const redeemed = await redeemTicket(tx, hashOf(bytes), sessionId)
    if (redeemed === undefined || Date.parse(redeemed.expiresAt) <= Date.now()) return undefined
    const session = await findSession(tx, sessionId)
    return session?.principalId === redeemed.principalId && session.state === 'open' ? session : undefined
  })
  if (row === undefined) throw invalidTicket()
  const caller = await currentCaller(context, tenantId, row)
  return { caller: { ...caller, request }, row }
}

export function hashOf(secret: Uint8Array): Buffer {
  return createHash('sha256').update(secret).digest()
}

function invalidTicket(): Problem {
  return new Problem(
    'unauthenticated',
    'The ticket is not valid for this session, was used or has expired. Create a new one',
  )
}
