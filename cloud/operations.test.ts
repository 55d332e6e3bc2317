import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  type Contract,
  isEmpty,
  isEventStream,
  isInternal,
  isMedia,
  type Operation,
  pathOf,
  writes,
} from '@millwright/api/contract.ts'
import { contracts } from '@millwright/api/contracts.ts'
import { type Permission, permissionNames } from '@millwright/api/permission.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { errorsOf } from './platform/http/openapi.ts'
import { type RawAnswer, type TestCaller, type TestHub, testHub } from './platform/testing/hub.ts'
import { inputValidator } from './platform/validation.ts'

/** Generated tests: they check rules for every operation of every contract, including future ones. */

const anyId = '01980000-0000-7000-8000-000000000000'

type Row = { contract: Contract; name: string; operation: Operation }

const operations: Row[] = Object.values(contracts as unknown as Record<string, Contract>).flatMap((contract) =>
  Object.entries(contract.operations).map(([name, operation]) => ({ contract, name, operation })),
)
const guarded = operations.filter(({ operation }) => operation.access !== 'public' && !isInternal(operation))
const forPeers = operations.filter(({ operation }) => isInternal(operation))
const permitted = guarded.filter(({ operation }) => permissionNames.includes(operation.access as Permission))
/** The operations whose body has a format. Any bytes are a valid body of the others. */
const withBody = guarded.filter(
  ({ operation }) => operation.body !== undefined && operation.bodyType !== 'application/octet-stream',
)

const brokenBodies: [string, string][] = [
  ['a body that is not JSON', '{"data":'],
  ['a body with an unknown field', '{"data":{"no_such_field":true}}'],
  ['a body that is a list', '[]'],
  ['a body with the field __proto__', '{"__proto__":{"admin":true},"data":{}}'],
]

test('has only valid JSON Schemas in every contract', () => {
  const ajv = new Ajv2020({ strict: false })
  for (const { contract, name, operation } of operations) {
    const { params, query, body, answers } = operation
    const schemas = [
      params,
      query,
      body,
      ...Object.values(answers).filter((answer) => !isEmpty(answer) && !isMedia(answer)),
    ]
    for (const schema of schemas) {
      if (schema !== undefined) assert.ok(ajv.validateSchema(schema), `${contract.name}.${name}: ${ajv.errorsText()}`)
    }
  }
})

describe('every operation', () => {
  let hub: TestHub
  let nobody: TestCaller
  let everybody: TestCaller

  before(async () => {
    hub = await testHub()
    nobody = await hub.as(undefined)
    everybody = await hub.as('administrator')
  })

  after(() => hub[Symbol.asyncDispose]())

  test('has enough operations for the generated tests', () => {
    assert.ok(guarded.length > 20 && permitted.length > 20 && withBody.length > 5)
  })

  for (const row of guarded) {
    test(`${row.contract.name}.${row.name} returns 401 without a token`, async () => {
      const answer = await send(hub, row, undefined)
      assert.equal(answer.status, 401)
      assertCode(row, answer, 'unauthenticated')
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/)
      const type = row.contract.errorFormat === undefined ? 'application/problem+json' : 'application/json'
      assert.equal(answer.headers.get('content-type'), type)
    })
  }

  for (const row of forPeers) {
    test(`${row.contract.name}.${row.name} returns 404 to callers other than services of the platform`, async () => {
      assert.equal((await send(hub, row, undefined)).status, 401)
      assert.equal((await send(hub, row, everybody.token)).status, 404)
    })
  }

  for (const row of permitted) {
    test(`${row.contract.name}.${row.name} returns 403 without ${row.operation.access}`, async () => {
      const answer = await send(hub, row, nobody.token)
      assert.equal(answer.status, 403)
      assertCode(row, answer, 'forbidden', `Permission denied: requires \`${row.operation.access}\``)
    })

    test(`${row.contract.name}.${row.name} needs no permission except ${row.operation.access}`, async () => {
      const role = `only-${row.operation.access}`.replaceAll('_', '-').slice(0, 60)
      await everybody.exchange(contracts.authorization, 'createRole', {
        body: { data: { name: role, permissions: [row.operation.access] } },
      })
      const just = await hub.as(role)
      // A stream would not end. The invalid parameter makes the platform refuse it right after the authorization.
      const isStreamed = Object.values(row.operation.answers).some(isEventStream)
      const answer = await send(hub, row, just.token, undefined, isStreamed ? 'no-such-parameter=1' : undefined)
      if (isHead(row)) assert.notEqual(answer.status, 403)
      else assert.notEqual(problemIn(row, answer)?.code, 'forbidden')
    })
  }

  for (const row of withBody) {
    for (const [what, body] of brokenBodies.filter(([, body]) => !isAccepted(row.operation, body))) {
      test(`${row.contract.name}.${row.name} returns 400 for ${what}`, async () => {
        const answer = await send(hub, row, everybody.token, body)
        assert.equal(answer.status, 400)
        const { code } = problemIn(row, answer)
        assert.ok(['invalid_body', 'invalid_json'].includes(code), code)
      })
    }
  }

  for (const row of guarded) {
    test(`${row.contract.name}.${row.name} refuses an unknown query parameter`, async () => {
      const answer = await send(hub, row, everybody.token, undefined, 'no-such-parameter=1')
      assert.equal(answer.status, 400)
      if (isHead(row)) return
      assert.match(problemIn(row, answer).code, /^(unknown_parameter|invalid_query)$/)
    })
  }

  for (const row of guarded.filter(({ operation }) => operation.params !== undefined)) {
    test(`${row.contract.name}.${row.name} returns an error code of its contract when the resource does not exist`, async () => {
      const answer = await send(hub, row, everybody.token)
      if (answer.status < 400 || isHead(row)) return
      const { code } = problemIn(row, answer)
      assert.ok(errorsOf(row.operation).includes(code), code)
    })
  }
})

function send(
  hub: TestHub,
  { contract, operation }: Row,
  token: string | undefined,
  body = exampleBody(operation),
  query = exampleQuery(operation),
) {
  const path = pathOf(contract, operation).replace(/\{(\w+)\}/g, (_, name: string) => exampleParameter(operation, name))
  return hub.request({
    method: operation.method,
    path: query === '' ? path : `${path}?${query}`,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': operation.bodyType ?? 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  })
}

/** Returns whether the responses of an operation have no body. */
function isHead({ operation }: Row): boolean {
  return operation.method === 'HEAD'
}

/** Checks the code of a problem, and its detail if one is expected. Responses to `HEAD` have no body. */
function assertCode(row: Row, answer: RawAnswer, code: string, detail?: string): void {
  if (isHead(row)) return
  assert.equal(problemIn(row, answer).code, code)
  if (detail !== undefined) assert.equal(problemIn(row, answer).detail, detail)
}

/** Returns the problem in a response, in the error format of its contract. */
function problemIn({ contract }: Row, { body }: RawAnswer): ProblemDocument {
  return (contract.errorFormat?.toProblem(body) ?? body) as ProblemDocument
}

/** Returns true if the contract accepts this body, because its schema has no restrictions. */
function isAccepted({ body: schema, ...operation }: Operation, text: string): boolean {
  if (schema === undefined || text.includes('__proto__')) return false
  try {
    inputValidator({ method: operation.method, path: '', summary: '', access: 'public', answers: {}, body: schema })({
      body: JSON.parse(text),
    })
    return true
  } catch {
    return false
  }
}

function exampleBody(operation: Operation): string | undefined {
  return operation.body === undefined || !writes(operation) ? undefined : '{"data":{}}'
}

function exampleParameter(operation: Operation, name: string): string {
  const properties = (operation.params?.properties ?? {}) as Record<string, { enum?: string[]; pattern?: string }>
  const schema = properties[name]
  return schema?.enum?.[0] ?? (schema?.pattern?.includes('0-9a-fA-F') ? anyId : 'no-such-thing')
}

function exampleQuery(operation: Operation): string {
  const { required = [], properties = {} } = (operation.query ?? {}) as {
    required?: string[]
    properties?: Record<string, { enum?: string[] }>
  }
  return required.map((name) => `${name}=${properties[name]?.enum?.[0] ?? anyId}`).join('&')
}
