import type { Contract, Operation } from '@millwright/api/contract.ts'
import { permissions } from '@millwright/api/permission.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from './access/caller.ts'
import { permissionDenied } from './access/permission-denied.ts'
import { may, maySomewhere } from './access/rights.ts'
import { type AnonymousCaller, Answer, type BeforeBody, CustomShape, plainBody } from './service.ts'
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
