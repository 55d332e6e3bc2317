import { workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { Answer, CustomShape, type Handlers, plainBody } from '../../platform/service.ts'
import { filteredText, parseResponseFilter } from './response-filter.ts'

const header = 'x-response-filter'

type AnyHandler = (request: { headers: Record<string, string | undefined> }, caller: Caller) => Promise<unknown>

/**
 * Wraps handlers, so that the `X-Response-Filter` header filters their responses. The filter is parsed before the handler
 * runs.
 */
export function withResponseFilters(handlers: Handlers<typeof workflows>): Handlers<typeof workflows> {
  const filtered = Object.entries(handlers).map(([name, handler]) => {
    const operation = workflows.operations[name as keyof typeof handlers]
    if (!('headers' in operation) || !operation.headers.some((accepted) => accepted === header)) return [name, handler]
    const status = Number(Object.keys(operation.answers)[0])
    return [name, filteredHandler(handler as unknown as AnyHandler, status)]
  })
  return Object.fromEntries(filtered)
}

function filteredHandler(handler: AnyHandler, usualStatus: number): AnyHandler {
  return async (request, caller) => {
    const text = request.headers[header]
    if (text === undefined) return handler(request, caller)
    const filter = parseResponseFilter(text)
    const result = await handler(request, caller)
    const answer = result instanceof Answer ? result : new Answer(usualStatus, result)
    return new Answer(answer.status, new CustomShape(filteredText(filter, plainBody(answer.body))), { [header]: text })
  }
}
