import type { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Session, SignInPolicy } from '@millwright/api/sign-in-security.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { requireOutranks } from '../../../platform/access/escalation.ts'
import { getSignInPolicy } from '../../../platform/access/sign-in-policy-store.ts'
import { changeAccess, findPrincipal, type PrincipalRow } from '../../../platform/access/store.ts'
import { revokeTokens } from '../../../platform/access/token-store.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { answer, type Handlers } from '../../../platform/service.ts'
import type { IdentityContext } from '../context.ts'
import * as store from '../store.ts'
import { deviceOf } from './device.ts'
import { rememberDevice } from './familiar-device.ts'
import { endRemoteSessions, endSessions } from './session-end.ts'
import { absoluteEnd, isLive, sessionWindow } from './session-limits.ts'

type Operations =
  | 'listSessions'
  | 'confirmSession'
  | 'deleteSession'
  | 'deleteSessions'
  | 'listUserSessions'
  | 'deleteUserSessions'

/** Handlers for the sessions of the caller, and for the sessions of other users. */
export function sessionHandlers({ context }: IdentityContext): Pick<Handlers<typeof identity>, Operations> {
  const { database, secrets } = context
  return {
    async listSessions({ query }, caller) {
      return database.read(caller, (handle) => listed(handle, caller, { principalId: caller.principal.id, ...query }))
    },

    async confirmSession({ params: { id } }, caller) {
      await database.transaction(caller, async (tx) => {
        const session = await getOwnSession(tx, caller, id)
        if (!session.unfamiliar) return
        await requireConfirmable(tx, caller)
        const { principalId, clientId, userAgent, address } = session
        const device = { clientId, userAgent, address: address ?? undefined }
        await store.setFamiliar(tx, id)
        await rememberDevice(tx, secrets, { principalId, device })
        const detail = { session: id, device: deviceOf(session), address }
        await record(tx, caller, { action: 'identity.confirmSession', target: targetOf(caller.principal), detail })
      })
      return answer(204)
    },

    async deleteSession({ params: { id } }, caller) {
      await database.transaction(caller, async (tx) => {
        const session = await getOwnSession(tx, caller, id)
        await endSessions(tx, [session])
        const detail = { session: id, device: deviceOf(session), address: session.address }
        await record(tx, caller, { action: 'identity.deleteSession', target: targetOf(caller.principal), detail })
      })
      return answer(204)
    },

    async deleteSessions({ query: { keepCurrent } }, caller) {
      const except = keepCurrent === true ? caller.token?.sessionId : undefined
      await database.transaction(caller, (tx) =>
        endAll(tx, caller, { action: 'identity.deleteSessions', principal: caller.principal, except }),
      )
      await endRemoteSessions(context, caller, caller.principal.id)
      return answer(204)
    },

    async listUserSessions({ params: { id }, query }, caller) {
      return database.read(caller, async (handle) => {
        await getPerson(handle, id)
        return listed(handle, caller, { principalId: id, ...query })
      })
    },

    async deleteUserSessions({ params: { id } }, caller) {
      await database.transaction(caller, async (tx) => {
        const principal = await getPerson(tx, id)
        await requireOutranks(tx, caller, id)
        await endAll(tx, caller, { action: 'identity.deleteUserSessions', principal })
      })
      await endRemoteSessions(context, caller, id)
      return answer(204)
    },
  }
}

type SessionQuery = { principalId: string; limit?: number; offset?: number }

async function listed(handle: Handle, caller: Caller, { principalId, limit = 50, offset = 0 }: SessionQuery) {
  const policy = await getSignInPolicy(handle)
  const window = sessionWindow(policy, Date.now())
  const { rows, total } = await store.listSessions(handle, principalId, { window, limit, offset })
  const data = rows.map((row) => shown(row, policy, caller.token?.sessionId))
  return { data, meta: { totalElements: total, elements: rows.length, offset } }
}

function shown(row: store.ListedSessionRow, policy: SignInPolicy, currentId: string | undefined): Session {
  return {
    id: row.id,
    client: row.clientId,
    device: deviceOf(row),
    address: row.address,
    provider: row.provider,
    methods: row.methods,
    createdTimestamp: row.createdAt,
    lastUseTimestamp: row.lastUsedAt,
    expiresTimestamp: new Date(absoluteEnd(row, policy)).toISOString(),
    isCurrent: row.id === currentId,
    isUnfamiliar: row.unfamiliar,
  }
}

/** Returns a session of the caller. The sessions of other users and ended sessions do not exist for the caller. */
async function getOwnSession(tx: Transaction, caller: Caller, id: string): Promise<store.SessionRow> {
  const session = await store.findSessionById(tx, id)
  const isOwn = session?.principalId === caller.principal.id
  if (session === undefined || !isOwn || !isLive(session, await getSignInPolicy(tx), Date.now()))
    throw new Problem('not_found', `You have no session ${id}`)
  return session
}

/**
 * Refuses a confirmation from an unfamiliar session while the user has a familiar session. Otherwise an attacker with a
 * stolen password could hide their own sign-in from the user.
 */
async function requireConfirmable(tx: Transaction, caller: Caller): Promise<void> {
  const currentId = caller.token?.sessionId
  const current = currentId === undefined ? undefined : await store.findSessionById(tx, currentId)
  if (current === undefined || !current.unfamiliar || current.methods.includes('mfa')) return
  const window = sessionWindow(await getSignInPolicy(tx), Date.now())
  if (!(await store.hasFamiliarSession(tx, caller.principal.id, window))) return
  throw new Problem(
    'conflict',
    'This session is new too. Confirm the sign-in from a session on a known device, or sign in with a second factor',
  )
}

async function getPerson(handle: Handle, id: string): Promise<PrincipalRow> {
  const principal = await findPrincipal(handle, id)
  if (principal?.kind === 'user' || principal?.kind === 'external') return principal
  throw new Problem('not_found', `User ${id} does not exist`)
}

type EndedSessions = {
  action: string
  principal: Pick<Caller['principal'], 'id'>
  except?: string | undefined
}

async function endAll(tx: Transaction, caller: Caller, { action, principal, except }: EndedSessions): Promise<void> {
  await changeAccess(tx)
  const ids = await store.endSessionsOf(tx, principal.id, { except })
  await revokeTokens(tx, { principalId: principal.id, ids })
  await record(tx, caller, { action, target: targetOf(principal), detail: { sessions: ids.length } })
}

function targetOf({ id }: Pick<Caller['principal'], 'id'>): string {
  return `user/${id}`
}
