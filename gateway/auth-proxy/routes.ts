import { type Contract, type Operation, pathsOf } from '@millwright/api/contract.ts'
import { gatekeeper } from '@millwright/api/gatekeeper.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { workflows } from '@millwright/api/workflows.ts'
import Value from 'typebox/value'

/**
 * This file is the allow-list of the auth proxy. The proxy resolves a request target to one operation of the cloud and
 * refuses the request unless that operation is listed here. The proxy then forwards a URL that it builds from the
 * operation's path template. The raw target is never forwarded, so the cloud cannot interpret it differently from the
 * proxy.
 */

type AllowList<Operations> = readonly (keyof Operations & string)[]

const workflowOperations: AllowList<typeof workflows.operations> = [
  'getHealth',
  'getVersion',
  'listWorkflows',
  'getWorkflow',
  'listJobs',
  'streamJobEvents',
  'getJob',
  'getJobStatus',
  'putJobStatus',
  'getJobDefinition',
  'putJobDefinition',
  'getJobTags',
]

/**
 * The gatekeeper operations that agents may call. `requestCredentials`, `reportLinks` and `uploadReceipt` are missing on
 * purpose: only the gateway itself calls them.
 */
const gatekeeperOperations: AllowList<typeof gatekeeper.operations> = [
  'leaseJob',
  'renewLease',
  'endJob',
  'uploadFound',
]

/**
 * The inventory operations that agents may call. For these operations, the cloud also requires that the gateway has a
 * grant in the asset's access group.
 */
const inventoryOperations: AllowList<typeof inventory.operations> = [
  'listAssets',
  'readAsset',
  'readIdentifiers',
  'createAsset',
  'createAssets',
]

type Route = { operation: Operation; segments: readonly string[]; isAllowed: boolean }

/** The routes, grouped by method and number of path segments. */
const routes: ReadonlyMap<string, Route[]> = Map.groupBy(
  [
    ...routesOf(workflows, workflowOperations).filter(({ segments }) => segments[0] !== 'workflows'),
    ...routesOf(gatekeeper, gatekeeperOperations),
    ...routesOf(inventory, inventoryOperations),
  ],
  ({ operation, segments }) => `${operation.method} ${segments.length}`,
)

/**
 * Returns the routes of all operations of a contract, including operations that agents may not call. Without their
 * routes, a path such as `/assets/facets` would match the template `/assets/{id}`.
 */
function routesOf(contract: Contract, allowed: readonly string[]): Route[] {
  return Object.entries(contract.operations).flatMap(([name, operation]) => {
    const former = (contract.formerPrefixes ?? []).map(({ prefix }) => prefix + operation.path)
    return [...pathsOf(contract, operation), ...former].map((path) => ({
      operation,
      segments: path.slice(1).split('/'),
      isAllowed: allowed.includes(name),
    }))
  })
}

const isParameter = (segment: string) => segment.startsWith('{')

/**
 * Matches a path in normal form: without escapes, empty segments, dot segments, fragments and path parameters. The
 * paths of agent operations need no other characters.
 */
const normalPath = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+$/

/** Returns the path and query to forward. Throws a `Problem` when agents may not call the operation. */
export function forwardedTarget(method: string, target: string): string {
  const queryStart = target.indexOf('?')
  const path = queryStart === -1 ? target : target.slice(0, queryStart)
  if (!normalPath.test(path)) {
    const detail =
      'The path is not in normal form. Send an absolute path of letters, digits, "-", "_", "." and "~", without percent-encoding, empty segments, dot segments or a trailing slash.'
    throw new Problem('invalid_path', detail)
  }
  const segments = path.slice(1).split('/')
  const candidates = routes.get(`${method} ${segments.length}`) ?? []
  const route = candidates.filter((one) => matches(one, segments)).toSorted(bySpecificity)[0]
  if (route?.isAllowed !== true || !hasValidParameters(route, segments)) {
    throw new Problem(
      'not_found',
      `The auth proxy does not forward ${method} ${path}, because this operation is not available to agents.`,
    )
  }
  const matched = route.segments.map((segment, index) => (isParameter(segment) ? segments[index] : segment))
  const query = queryStart === -1 ? '' : new URLSearchParams(target.slice(queryStart + 1)).toString()
  return `/${matched.join('/')}${query === '' ? '' : `?${query}`}`
}

function matches(route: Route, segments: readonly string[]): boolean {
  return route.segments.every((segment, index) => isParameter(segment) || segment === segments[index])
}

/**
 * Compares routes in the same way as the router of the cloud: at the first segment where only one route has a
 * parameter, the route with the literal has priority.
 */
function bySpecificity(one: Route, other: Route): number {
  const at = one.segments.findIndex(
    (segment, index) => isParameter(segment) !== isParameter(other.segments[index] ?? ''),
  )
  if (at === -1) return 0
  return isParameter(one.segments[at] ?? '') ? 1 : -1
}

function hasValidParameters(route: Route, segments: readonly string[]): boolean {
  const entries = route.segments.flatMap((segment, index): [string, string][] =>
    isParameter(segment) ? [[segment.slice(1, -1), segments[index] ?? '']] : [],
  )
  return route.operation.params === undefined || Value.Check(route.operation.params, Object.fromEntries(entries))
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

/**
 * Request headers that are forwarded to the cloud. The gateway itself sets `authorization`, `dpop` and the headers of
 * the connection.
 */
const requestHeaders = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'content-encoding',
  'content-length',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'last-event-id',
  'prefer',
  'traceparent',
  'tracestate',
  'user-agent',
  'x-request-id',
  'x-response-filter',
])

/** Response headers that agents do not get: the headers of one connection (RFC 9110 §7.6.1), and cookies. */
const connectionHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

export function forwardedRequestHeaders(headers: Headers): Record<string, string | string[]> {
  return headersWhere(headers, (name) => requestHeaders.has(name))
}

export function forwardedResponseHeaders(headers: Headers): Record<string, string | string[]> {
  const listed = String(headers.connection ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
  return headersWhere(headers, (name) => !connectionHeaders.has(name) && !listed.includes(name))
}

function headersWhere(headers: Headers, isForwarded: (name: string) => boolean): Record<string, string | string[]> {
  const entries = Object.entries(headers).filter(
    (entry): entry is [string, string | string[]] => entry[1] !== undefined && isForwarded(entry[0]),
  )
  return Object.fromEntries(entries)
}
