import type { Contract, Operation } from '@millwright/api/contract.ts'
import { permissions } from '@millwright/api/permission.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from './access/caller.ts'
import { permissionDenied } from './access/permission-denied.ts'
import { may, maySomewhere } from './access/rights.ts'
import type { Socket } from './http/socket.ts'
import {
  type AnonymousCaller,
  Answer,
  type BeforeBody,
  CustomShape,
  plainBody,
  type SocketHandler,
  type TicketCaller,
} from './service.ts'
import { answerValidator, inputValidator, type RawInput } from './validation.ts'

export type AnyHandler = (request: never, caller: never) => Promise<unknown>

/** An operation of a service in this process, with validation of its input and output. */
export type LocalOperation = {
  contract: Contract
  name: string
  operation: Operation
  /** Refuses a request before its body is read. */
  beforeBody?: BeforeBody
  invoke(input: RawInput, caller: Caller | AnonymousCaller): Promise<Answer>
  /** Validates the input of a WebSocket and asks the handler to open it. Only operations with `socket` have it. */
  openSocket?(input: RawInput, caller: Caller, signal: AbortSignal): Promise<(socket: Socket) => void>
  /** Validates the input of a WebSocket and returns the caller of the ticket in its query. */
  redeem?(input: RawInput, request: Caller['request']): Promise<Caller>
}

type Options = {
  handler: AnyHandler
  beforeBody?: BeforeBody | undefined
  /** True if the response of the handler is validated too. */
  strict: boolean
}

export function localOperation(
  contract: Contract,
  name: string,
  { handler, beforeBody, strict }: Options,
): LocalOperation {
  const operation = contract.operations[name]
  if (operation === undefined) throw new TypeError(`${contract.name} has no operation ${name}`)
  const validate = inputValidator(operation)
  const checkAnswer = strict ? answerValidator(contract, name, operation) : undefined
  const usualStatus = Number(Object.keys(operation.answers)[0])

  return {
    contract,
    name,
    operation,
    ...(beforeBody === undefined ? {} : { beforeBody }),
    async invoke(input, caller) {
      await validate(input, 'tenantId' in caller ? caller.tenantId : undefined)
      input.headers ??= {}
      const result = await handler(input as never, caller as never)
      const answer = result instanceof Answer ? result : new Answer(usualStatus, result)
      if (!(answer.body instanceof CustomShape)) checkAnswer?.(answer, plainBody(answer.body))
      return answer
    },
  }
}

type SocketOptions = {
  handler: SocketHandler<Operation>
  /** Returns the caller of a ticket, if the operation accepts tickets. */
  ticketCaller: TicketCaller | undefined
}

/** Returns an operation that is a WebSocket. A request without an upgrade is refused after its validation. */
export function socketOperation(
  contract: Contract,
  name: string,
  { handler, ticketCaller }: SocketOptions,
): LocalOperation {
  const operation = contract.operations[name]
  if (operation?.socket === undefined) throw new TypeError(`${contract.name}.${name} is not a WebSocket`)
  const { protocol, acceptsTicket } = operation.socket
  const validate = inputValidator(operation)
  return {
    contract,
    name,
    operation,
    async invoke(input) {
      await validate(input)
      throw upgradeRequired(protocol)
    },
    async openSocket(input, caller, signal) {
      await validate(input)
      return handler({ ...input, headers: {} } as never, caller, signal)
    },
    ...(acceptsTicket === undefined || ticketCaller === undefined
      ? {}
      : {
          async redeem(input, request) {
            await validate(input)
            const { ticket } = input.query as { ticket: string }
            return ticketCaller({ ticket, params: (input.params ?? {}) as Record<string, string>, request })
          },
        }),
  }
}

export function upgradeRequired(protocol: string): Problem {
  const detail = `This operation is a WebSocket. Open it with a WebSocket client and the subprotocol ${protocol}`
  return new Problem('upgrade_required', detail, { headers: { upgrade: 'websocket', connection: 'upgrade' } })
}

/** Checks the permission for an operation, before its body is read and its handler runs. */
export function authorize(operation: Operation, caller: Caller): void {
  const { access } = operation
  if (access === 'public' || access === 'known') return
  if (access === 'signed-in') {
    if (caller.principal.kind !== 'gateway') return
    throw new Problem('forbidden', 'This operation is not available to gateways')
  }
  if (access === 'peer' || access === 'on-behalf') {
    if (access === 'peer' ? caller.principal.kind === 'system' : caller.byPeer === true) return
    throw new Problem('not_found', 'This path does not exist')
  }
  const allowed = permissions[access].scope === 'global' ? may(caller, access) : maySomewhere(caller, access)
  if (allowed) return
  throw permissionDenied({ permission: access })
}
