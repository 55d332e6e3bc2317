import { type AnyInput, client, overHttp, type Transport } from '@millwright/api/client.ts'
import type { Contract } from '@millwright/api/contract.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from './access/caller.ts'
import { problemOf } from './http/problems.ts'
import { authorize, type LocalOperation, localOperation, socketOperation } from './operation.ts'
import { type PeerTokens, peerScheme } from './peer-token.ts'
import { idempotent } from './requests/idempotency.ts'
import { type BeforeBody, type Context, type HostHandler, type Peers, plainBody, type Service } from './service.ts'
import { copiedFor, type RawInput } from './validation.ts'
import { traceHeaders } from './work.ts'

type Options = {
  /** The services that run in this process. */
  services: readonly Service[]
  /** The URLs of the other services, by contract name. */
  remote: ReadonlyMap<string, string>
  peerTokens: PeerTokens
  /** Whether responses are validated against their contracts. True in tests. */
  strict: boolean
}

export type Hub = { context: Context; operations: LocalOperation[]; hosts: HostHandler[] }

/**
 * Creates the services of this process with their context. The context gives them clients for other services, in this
 * process or in other processes.
 */
export function createHub(
  parts: Omit<Context, 'peers' | 'peerAuthorization'>,
  { services, remote, peerTokens, strict }: Options,
): Hub {
  const local = new Map<string, Map<string, LocalOperation>>()
  const hosts: HostHandler[] = []
  const context: Context = {
    ...parts,
    peers: peers({ local, remote, peerTokens, strict, send: parts.peerConnections.fetch }),
    peerAuthorization: async (caller) => `${peerScheme} ${await peerTokens.sign(caller)}`,
  }
  for (const service of services) {
    const handlers = service.handlers(context) as Record<string, never>
    const sockets = (service.sockets?.(context) ?? {}) as Record<string, never>
    const ticketCaller = service.ticketCaller?.(context)
    const host = service.hosts?.(context)
    if (host !== undefined) hosts.push(host)
    const beforeBody: Record<string, BeforeBody | undefined> = service.beforeBody?.(context) ?? {}
    const operations = Object.keys(service.contract.operations).map((name) => {
      if (service.contract.operations[name]?.socket !== undefined) {
        const handler = sockets[name] as never
        return [name, socketOperation(service.contract, name, { handler, ticketCaller })] as const
      }
      const operation = localOperation(service.contract, name, {
        handler: handlers[name] as never,
        beforeBody: beforeBody[name],
        strict,
      })
      return [name, idempotent(operation, context)] as const
    })
    local.set(service.contract.name, new Map(operations))
    if (service.tasks !== undefined) context.tasks.define(service.tasks(context))
  }
  return { context, operations: [...local.values()].flatMap((operations) => [...operations.values()]), hosts }
}

type PeerOptions = {
  local: ReadonlyMap<string, ReadonlyMap<string, LocalOperation>>
  remote: ReadonlyMap<string, string>
  peerTokens: PeerTokens
  strict: boolean
  /** Sends a request to another process. */
  send: typeof fetch
}

function peers({ local, remote, peerTokens, strict, send }: PeerOptions): Peers {
  return (contract, caller) => {
    const here = local.get(contract.name)
    if (here !== undefined) return client(contract, inProcess(here, caller, { strict }))
    const url = remote.get(contract.name)
    if (url === undefined) return client(contract, unreachable)
    return client(contract, overPeer(overHttp({ baseUrl: url, fetch: send }), caller, peerTokens))
  }
}

/** Calls a service in this process. It makes the same checks as a call over HTTP. */
function inProcess(
  operations: ReadonlyMap<string, LocalOperation>,
  caller: Caller,
  { strict }: { strict: boolean },
): Transport {
  return async (contract: Contract, name, input) => {
    const operation = operations.get(name)
    if (operation === undefined) throw new TypeError(`${contract.name} has no operation ${name}`)
    try {
      // The called operation commits its own transaction. It does not join the transaction of a request with an
      // Idempotency-Key.
      const { transaction: _, ...own } = caller
      const plain = { ...own, byPeer: true } as const
      authorize(operation.operation, plain)
      const answer = await operation.invoke(peerInput(operation, input, { strict }), plain)
      return { status: answer.status, headers: new Headers(plainHeaders(answer.headers)), body: plainBody(answer.body) }
    } catch (error) {
      if (error instanceof Problem) throw error
      throw problemOf(error)
    }
  }
}

/**
 * Prepares the input for another service in this process. It copies the parts that validation may change. The rest is
 * not copied, because it may be large and neither service changes it. In strict mode the rest is frozen to enforce
 * this.
 */
function peerInput({ operation }: LocalOperation, input: AnyInput, { strict }: { strict: boolean }): RawInput {
  const { body, ...rest } = input
  const own = structuredClone(rest)
  if (body === undefined || operation.body === undefined) return { ...own, body }
  return { ...own, body: copiedFor(operation.body, strict ? frozen(body) : body) }
}

function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const member of Object.values(value)) frozen(member)
  return value
}

function plainHeaders(headers: Readonly<Record<string, string | string[]>>): [string, string][] {
  return Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => [name, value] as [string, string]),
  )
}

function overPeer(send: Transport, caller: Caller, peerTokens: PeerTokens): Transport {
  return async (contract, name, input) => {
    const authorization = `${peerScheme} ${await peerTokens.sign(caller)}`
    try {
      return await send(contract, name, {
        ...input,
        headers: { ...input.headers, ...traceHeaders(), authorization, 'x-request-id': caller.request.id },
      })
    } catch (error) {
      throw new Problem('unavailable', `The service ${contract.name} is not reachable. Retry later`, {
        retryAfter: 2,
        cause: error,
      })
    }
  }
}

const unreachable: Transport = async (contract) => {
  throw new Problem(
    'unavailable',
    `The service ${contract.name} is not configured. Add it to MILLWRIGHT_SERVICES or MILLWRIGHT_PEERS`,
  )
}
