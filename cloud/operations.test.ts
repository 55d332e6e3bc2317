import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Contract, isEmpty, isMedia, type Operation, pathOf, writes } from '@millwright/api/contract.ts'
import { contracts } from '@millwright/api/contracts.ts'
import { type Permission, permissionNames } from '@millwright/api/permission.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { errorsOf } from './platform/http/openapi.ts'
import { type TestCaller, type TestHub, testHub } from './platform/testing/hub.ts'

/** Generated: what holds for every operation of every contract, present and future, without anybody writing it down. */

const anyId = '01980000-0000-7000-8000-000000000000'

type Row = { contract: Contract; name: string; operation: Operation }

const operations: Row[] = Object.values(contracts as unknown as Record<string, Contract>).flatMap((contract) =>
  Object.entries(contract.operations).map(([name, operation]) => ({ contract, name, operation })),
)
const guarded = operations.filter(({ operation: { access } }) => access !== 'public' && access !== 'peer')
const forPeers = operations.filter(({ operation: { access } }) => access === 'peer')
const permitted = guarded.filter(({ operation }) => permissionNames.includes(operation.access as Permission))
const withBody = guarded.filter(({ operation }) => operation.body !== undefined)

const brokenBodies: [string, string][] = [
  ['a body that is not JSON', '{"data":'],
  ['a body of another shape', '{"data":{"no_such_field":true}}'],
  ['a body that is a list', '[]'],
  ['a body that would change prototypes', '{"__proto__":{"admin":true},"data":{}}'],
]

test('every schema of every contract is a JSON Schema', () => {
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

  test('there are operations to test', () => {
    assert.ok(guarded.length > 20 && permitted.length > 20 && withBody.length > 5)
  })

  for (const row of guarded) {
    test(`${row.contract.name}.${row.name} answers 401 without a token`, async () => {
      const answer = await send(hub, row, undefined)
      assert.equal(answer.status, 401)
      assert.equal((answer.body as ProblemDocument).code, 'unauthenticated')
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/)
      assert.equal(answer.headers.get('content-type'), 'application/problem+json')
    })
  }

  for (const row of forPeers) {
    test(`${row.contract.name}.${row.name} is not there for anybody but our own services`, async () => {
      assert.equal((await send(hub, row, undefined)).status, 401)
      assert.equal((await send(hub, row, everybody.token)).status, 404)
    })
  }

  for (const row of permitted) {
    test(`${row.contract.name}.${row.name} answers 403 without ${row.operation.access}`, async () => {
      const answer = await send(hub, row, nobody.token)
      assert.equal(answer.status, 403)
      assert.equal((answer.body as ProblemDocument).code, 'forbidden')
      assert.match((answer.body as ProblemDocument).detail, new RegExp(row.operation.access))
    })

    test(`${row.contract.name}.${row.name} needs no permission but ${row.operation.access}`, async () => {
      const role = `only-${row.operation.access}`.replaceAll('_', '-').slice(0, 60)
      await everybody.exchange(contracts.authorization, 'createRole', {
        body: { data: { name: role, permissions: [row.operation.access] } },
      })
      const just = await hub.as(role)
      const answer = await send(hub, row, just.token)
      assert.notEqual((answer.body as ProblemDocument)?.code, 'forbidden')
    })
  }

  for (const row of withBody) {
    for (const [what, body] of brokenBodies) {
      test(`${row.contract.name}.${row.name} answers 400 to ${what}`, async () => {
        const answer = await send(hub, row, everybody.token, body)
        assert.equal(answer.status, 400)
        const problem = answer.body as ProblemDocument
        assert.ok(['invalid_body', 'invalid_json'].includes(problem.code), problem.code)
      })
    }
  }

  for (const row of guarded) {
    test(`${row.contract.name}.${row.name} refuses a query parameter it does not know`, async () => {
      const answer = await send(hub, row, everybody.token, undefined, 'no-such-parameter=1')
      assert.equal(answer.status, 400)
      assert.match((answer.body as ProblemDocument).code, /^(unknown_parameter|invalid_query)$/)
    })
  }

  for (const row of guarded.filter(({ operation }) => operation.params !== undefined)) {
    test(`${row.contract.name}.${row.name} answers what its contract names when the thing is not there`, async () => {
      const answer = await send(hub, row, everybody.token)
      if (answer.status < 400) return
      assert.ok(
        errorsOf(row.operation).includes((answer.body as ProblemDocument).code),
        (answer.body as ProblemDocument).code,
      )
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
